import { argumentsJsonSchema, argumentsProblem, processArguments } from '@angelia/contracts';
import type { WatcherTool } from './tool.ts';

/** Every action but `wait` is quick. */
const ACTION_SECONDS = 30;

/** Looks after the session's background processes. process-watcher carries it out. */
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
    return action === 'wait' ? timeout_seconds : ACTION_SECONDS;
  },
};
