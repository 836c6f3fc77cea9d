import { agentCall } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import type { Run } from '../../run/claimed-run.ts';
import { endWith, resultOf } from '../agent-result.ts';

/**
 * The agent is a program. process-watcher runs it, since the runner holds the model keys and executes nothing:
 * `tool.started` starts the program, `tool.finished` reports its result. The program outlives this runner. A run that
 * follows a lost one waits for the same program, which is never started twice (C14).
 */
export async function runCommand(run: Run): Promise<Loaded | null> {
  const turn = run.loaded.state.turns.find((open) => open.turn === run.turn);
  if (turn === undefined) return null;
  if (agentCall(turn) === null) {
    await run.append([{ type: 'start-agent', generation: run.generation, kind: 'command', arguments: '{}' }]);
  }
  // The run's own limit ends the waiting (run-turn.ts).
  const result = await run.waitFor((loaded) => resultOf(loaded, run.turn), Number.POSITIVE_INFINITY);
  return result && endWith(run, result);
}
