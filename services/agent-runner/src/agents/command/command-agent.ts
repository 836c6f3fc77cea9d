import type { CommandAgentConfig } from '@angelia/contracts';
import { agentCall } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import type { Run } from '../../run/claimed-run.ts';
import { endWith, resultOf } from '../agent-result.ts';

/**
 * The agent is a program. process-watcher runs it, since the runner holds the model keys and executes nothing:
 * `tool.started` starts the program, `tool.finished` reports its result. The program outlives this runner. A run that
 * follows a lost one waits for the same program, which is never started twice (C14).
 */
export async function runCommand(run: Run, agent: CommandAgentConfig): Promise<Loaded | null> {
  const turn = run.loaded.state.turns.find((open) => open.turn === run.turn);
  if (turn === undefined) return null;
  if (agentCall(turn) === null) {
    await run.append([{ type: 'start-agent', generation: run.generation, kind: 'command', arguments: '{}' }]);
  }
  const limitMs = (agent.timeout_seconds + GRACE_SECONDS) * 1000;
  const result = await run.waitFor((loaded) => resultOf(loaded, run.turn), performance.now() + limitMs);
  return result === null
    ? run.fail('agent_lost', 'process-watcher has not reported the result of the program')
    : endWith(run, result);
}

/** The watcher ends the program at its time limit and reports that. After this much more, no report will come. */
const GRACE_SECONDS = 60;
