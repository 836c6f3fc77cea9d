import { accept, alreadySo, type Decision, fact, refuse } from '../decision.ts';
import { fence } from '../guards.ts';
import type { OpenCall, OpenTurn, SessionState } from '../state.ts';

/**
 * Agents that are no model (kind `command` and `http`): the whole turn is one call, and its result is the answer.
 *
 *   (none) --tool.started `agent-<turn>`--> started --tool.finished--> done --final-response | run.failed-->
 *
 * No model asked for it, so it is no row of the transcript. Its result comes from whoever carries it out (the watcher,
 * a callback) and outlives the run that began it. A call is begun once. Where it has no result, the next run
 * waits for it, or asks the agent again under the same name.
 */
export const agentTools = {
  /** A program: process-watcher carries it out. */
  command: 'agent',
  /** A service elsewhere: the run calls it, and its callback may bring the result. */
  http: 'agent:http',
} as const;

export interface StartAgent {
  readonly type: 'start-agent';
  readonly generation: number;
  readonly kind: keyof typeof agentTools;
  readonly arguments: string;
}

export function startAgent(state: SessionState, command: StartAgent): Decision {
  const held = fence(state, command.generation);
  if (!held.ok) return held;
  const { run, turn } = held;
  const call = agentCall(turn);
  if (call?.status === 'done' || turn.step > 0) {
    return refuse('call_closed', `the agent of turn ${turn.turn} has done its work`);
  }
  if (call !== null) {
    return call.startedIn === run.generation
      ? alreadySo
      : refuse('call_started', `generation ${call.startedIn} began call ${call.id}: it has no result yet`);
  }
  return accept(
    fact('tool.started', {
      generation: run.generation,
      turn: turn.turn,
      call_id: agentCallId(turn.turn),
      tool: agentTools[command.kind],
      arguments: command.arguments,
      waits_for: null,
    }),
  );
}

export function agentCallId(turn: number): string {
  return `agent-${turn}`;
}

/** The turn's call to its agent; null: it was not begun. */
export function agentCall(turn: OpenTurn): OpenCall | null {
  return turn.calls.find((call) => isAgentTool(call.tool)) ?? null;
}

export function isAgentTool(tool: string): boolean {
  return tool === agentTools.command || tool === agentTools.http;
}
