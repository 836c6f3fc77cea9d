import { accept, alreadyDone, type Decision, fact, refuse } from '../decision.ts';
import { requireOpenRun } from '../guards.ts';
import type { OpenCall, OpenTurn, SessionState } from '../state.ts';

/**
 * Agents that are not models (kinds `command` and `http`): the whole turn is one call, and its result is the answer.
 *
 *   (none) --tool.started `agent-<turn>`--> started --tool.finished--> done --final-response | run.failed-->
 *
 * No model asked for the call, so the transcript has no row for it. The result comes from whoever carries out the call
 * (the watcher, a callback) and is accepted even after the run that started it is gone. A call is started once. If it
 * has no result, the next run waits for it or asks the agent again with the same call id.
 */
export const agentTools = {
  /** A program, carried out by process-watcher. */
  command: 'agent',
  /** A remote service: the run calls it, and its callback may bring the result. */
  http: 'agent:http',
} as const;

export interface StartAgent {
  readonly type: 'start-agent';
  readonly generation: number;
  readonly kind: keyof typeof agentTools;
  readonly arguments: string;
}

export function startAgent(state: SessionState, command: StartAgent): Decision {
  const held = requireOpenRun(state, command.generation);
  if (!held.ok) return held;
  const { run, turn } = held;
  const call = agentCall(turn);
  if (call?.status === 'done' || turn.step > 0) {
    return refuse('call_closed', `the agent of turn ${turn.turn} has finished`);
  }
  if (call !== null) {
    return call.startedIn === run.generation
      ? alreadyDone
      : refuse('call_started', `generation ${call.startedIn} started call ${call.id}: it has no result yet`);
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

/** The turn's call to its agent. Null: not started. */
export function agentCall(turn: OpenTurn): OpenCall | null {
  return turn.calls.find((call) => isAgentTool(call.tool)) ?? null;
}

export function isAgentTool(tool: string): boolean {
  return tool === agentTools.command || tool === agentTools.http;
}
