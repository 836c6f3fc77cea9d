import { argumentsJsonSchema, argumentsProblem, terminalArguments } from '@angelia/contracts';
import type { WatcherTool } from './tool.ts';

/** To start a process in the background is done in an instant; a watcher under load may take a while to begin. */
const START_SECONDS = 30;

/** A shell command; process-watcher runs it (this service holds the model keys and runs none). */
export const terminalTool: WatcherTool = {
  name: 'terminal',
  by: 'watcher',
  // Calls of one step are independent of each other: what is not belongs into one command line, or into two steps.
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
