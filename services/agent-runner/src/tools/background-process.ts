import { argumentsJsonSchema, argumentsProblem, processArguments } from '@angelia/contracts';
import type { WatcherTool } from './tool.ts';

/** Everything but `wait` is done in an instant. */
const ACT_SECONDS = 30;

/** What became of the session's background processes; process-watcher knows. */
export const processTool: WatcherTool = {
  name: 'process',
  by: 'watcher',
  parallel: true,
  description:
    'Looks after background processes that `terminal` started: list, poll (state and new output), log (last lines), ' +
    'wait (for the end), kill, write (to standard input).',
  parameters: argumentsJsonSchema(processArguments),
  check: (args) => argumentsProblem(processArguments, args),
  limitSeconds(args) {
    const { action, timeout_seconds } = processArguments.parse(args);
    return action === 'wait' ? timeout_seconds : ACT_SECONDS;
  },
};
