import type { EventData } from '@angelia/contracts';
import { toStorable } from '@angelia/event-log';
import { agentCall } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import type { Run } from '../run/claimed-run.ts';

/** The result of the turn's call to its agent. */
type AgentResult = Pick<EventData<'tool.finished'>, 'outcome' | 'result'>;

/** Null: the call has no result yet. */
export function resultOf({ events, state }: Loaded, turn: number): AgentResult | null {
  const open = state.turns.find((one) => one.turn === turn);
  const call = open === undefined ? null : agentCall(open);
  if (call?.status !== 'done') return null;
  const finished = events.findLast(
    (event) =>
      event.type === 'tool.finished' && (event.data as EventData<'tool.finished'>).call_id === call.id,
  );
  return (finished?.data as AgentResult | undefined) ?? null;
}

/**
 * Ends the turn as its agent's call ended. The result is JSON: `{"text"}`, or `{"error"}`, which the user does not see,
 * with `"code":"timeout"` if process-watcher ended the program at its time limit.
 */
export function endWith(run: Run, { outcome, result }: AgentResult): Promise<Loaded | null> {
  const { text, error, code } = parse(result);
  if (outcome === 'ok' && text !== null) {
    return run.end([{ type: 'finish-turn', generation: run.generation, text: toStorable(text) }]);
  }
  if (outcome === 'unknown') {
    return run.fail('agent_lost', error ?? 'the outcome of the work of the agent is unknown');
  }
  return run.fail(code === 'timeout' ? code : 'agent_failed', error ?? 'the agent failed without saying why');
}

function parse(result: string): { text: string | null; error: string | null; code: string | null } {
  let value: unknown;
  try {
    value = JSON.parse(result);
  } catch {
    // Not our JSON: then it is a message of the service that carried out the call.
    return { text: null, error: result, code: null };
  }
  const given = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const string = (field: unknown): string | null => (typeof field === 'string' ? field : null);
  return { text: string(given.text), error: string(given.error), code: string(given.code) };
}
