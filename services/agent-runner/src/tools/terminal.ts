import { argumentsJsonSchema, argumentsProblem, terminalArguments } from '@angelia/contracts';
import type { WatcherTool } from './tool.ts';

/** Starting a background process is quick, but a watcher under load may take a while to get to it. */
const START_SECONDS = 30;

/** Runs a shell command. process-watcher carries it out: this service holds the model keys and runs no commands. */
export const terminalTool: WatcherTool = {
  name: 'terminal',
  by: 'watcher',
  // The calls of one step are independent of each other. Dependent commands belong in one line or in two steps.
  parallel: true,
  description:
    'Runs a shell command and returns its exit code and output. Commands of one step run at the same time; ' +
    'all commands of this session share their files. For long work use `background` and the tool `process`.',
  parameters: argumentsJsonSchema(terminalArguments),
  check: (args) => argumentsProblem(terminalArguments, args),
  limitSeconds(args) {
    const { background, timeout_seconds } = terminalArguments.parse(args);
    return background ? START_SECONDS : timeout_seconds;
  },
};
