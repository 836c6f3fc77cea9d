import type { EventData, Outcome, RecordedFact } from '@angelia/contracts';
import { askedAt, type OpenOutput, openApproval, type SessionState, type StreamEvent } from '../state.ts';

/**
 * What one event adds to the metrics: how long something took, by the clock of the log, and how it ended. Everything is
 * derived from the session before and after the event, so it does not matter who appended the event or what restarted
 * in between. Names are those of the config and the events. Whoever turns them into labels must keep their number small.
 */
export type Measure =
  /** From the request for a turn until `until`. */
  | { readonly what: 'waited'; readonly until: Milestone; readonly route: string; readonly ms: number }
  | {
      readonly what: 'run-ended';
      readonly agent: string;
      readonly outcome: RunOutcome;
      /** The code of its failure. A run that was cancelled or interrupted, or that asked a person, has not failed. */
      readonly error: string | null;
      readonly ms: number;
    }
  /** Includes turns that expired without a run. */
  | { readonly what: 'turn-failed'; readonly agent: string; readonly code: string }
  | { readonly what: 'step'; readonly agent: string; readonly outcome: 'answer' | 'tools' }
  | { readonly what: 'tokens'; readonly model: string; readonly input: number; readonly output: number }
  /** `ms` is null for a call that was refused before it started. */
  | {
      readonly what: 'tool-ended';
      readonly agent: string;
      readonly tool: string;
      readonly outcome: 'ok' | 'error' | 'unknown';
      readonly ms: number | null;
    }
  /** `ms`: how long the request was open. */
  | {
      readonly what: 'approval';
      readonly agent: string;
      readonly outcome: 'approved' | 'denied' | 'expired' | 'superseded';
      readonly ms: number;
    }
  | { readonly what: 'status'; readonly kind: EventData<'session.interim-status'>['kind'] }
  | {
      readonly what: 'delivery';
      readonly target: string;
      readonly outcome: DeliveryOutcome;
      readonly attempt: number;
    }
  | { readonly what: 'process-ended'; readonly outcome: 'succeeded' | 'failed' | 'lost' }
  | { readonly what: 'session-ended'; readonly route: string; readonly outcome: Outcome };

export type Milestone = 'started' | 'first-status' | 'final' | 'delivered';
/** `lost`: another run took over. `asked`: the run ended with a question to a person. `put_off`: no model can be used now. */
type RunOutcome = Outcome | 'interrupted' | 'lost' | 'asked' | 'put_off';
/** `held`: the target asked us to wait. `unknown`: no response came. After these and `failed` another attempt follows. */
type DeliveryOutcome = 'delivered' | 'failed' | 'held' | 'unknown' | 'dead' | 'dropped';

export function measure(before: SessionState, event: StreamEvent, after: SessionState): Measure[] {
  const fact = event as RecordedFact;
  const measures: Measure[] = runEnded(before, event, after);
  const agent = after.created?.agent ?? '';
  const waited = (until: Milestone, since: number | null | undefined): void => {
    if (since == null) return;
    const route = after.created?.route ?? '';
    measures.push({ what: 'waited', until, route, ms: Math.max(0, event.recordedAt - since) });
  };
  const turnAskedAt = (number: number): number | null => {
    const turn = before.turns.find((open) => open.turn === number);
    return turn === undefined ? null : askedAt(turn);
  };
  switch (fact.type) {
    case 'run.started':
      if (before.turns.find(({ turn }) => turn === fact.data.turn)?.startedAt === null)
        waited('started', turnAskedAt(fact.data.turn));
      break;
    case 'session.interim-status':
      measures.push({ what: 'status', kind: fact.data.kind });
      if (before.run?.statuses === 0 && !before.run.resumed)
        waited('first-status', turnAskedAt(fact.data.turn));
      break;
    case 'session.final-response':
      waited('final', turnAskedAt(fact.data.turn));
      break;
    case 'run.failed':
      measures.push({ what: 'turn-failed', agent, code: fact.data.code });
      break;
    case 'model.responded':
      measures.push(
        { what: 'step', agent, outcome: fact.data.tool_calls.length > 0 ? 'tools' : 'answer' },
        tokens(fact.data.model, fact.data.usage),
      );
      break;
    case 'context.compressed':
      measures.push(tokens(fact.data.model, fact.data.usage));
      break;
    case 'tool.finished': {
      const { tool, outcome, call_id, turn } = fact.data;
      const calls = before.turns.find((open) => open.turn === turn)?.calls;
      const since = calls?.find(({ id }) => id === call_id)?.startedAt ?? null;
      const ms = since === null ? null : Math.max(0, event.recordedAt - since);
      measures.push({ what: 'tool-ended', agent, tool, outcome, ms });
      break;
    }
    case 'approval.decided':
    case 'approval.expired': {
      const open = openApproval(before);
      if (open === null || open.id !== fact.data.approval_id) break;
      const ms = Math.max(0, event.recordedAt - open.askedAt);
      measures.push({ what: 'approval', agent, outcome: approvalOutcome(fact), ms });
      break;
    }
    case 'delivery.succeeded': {
      const output = outputOf(before, fact.data.output);
      if (output === undefined) break;
      measures.push(delivery(after, output, 'delivered', fact.data.attempt));
      if (output.kind === 'final-response') waited('delivered', output.askedAt);
      break;
    }
    case 'delivery.failed': {
      const output = outputOf(before, fact.data.output);
      const outcome = fact.data.unknown === true ? 'unknown' : fact.data.counts === false ? 'held' : 'failed';
      if (output !== undefined) measures.push(delivery(after, output, outcome, fact.data.attempt));
      break;
    }
    case 'delivery.dead': {
      const output = outputOf(before, fact.data.output);
      if (output !== undefined) measures.push(delivery(after, output, 'dead', fact.data.attempt));
      break;
    }
    case 'delivery.dropped': {
      const output = outputOf(before, fact.data.output);
      if (output !== undefined) measures.push(delivery(after, output, 'dropped', output.attempts));
      break;
    }
    case 'process.exited':
      measures.push({
        what: 'process-ended',
        outcome: fact.data.exit_code === 0 ? 'succeeded' : 'failed',
      });
      break;
    case 'process.lost':
      measures.push({ what: 'process-ended', outcome: 'lost' });
      break;
    case 'session.ended': {
      const route = after.created?.route ?? '';
      measures.push({ what: 'session-ended', route, outcome: fact.data.outcome });
      break;
    }
  }
  return measures;
}

/** Compares the state before and after, so it cannot miss an event that ends a run. */
function runEnded(before: SessionState, event: StreamEvent, after: SessionState): Measure[] {
  const { run } = before;
  if (run === null || after.run?.generation === run.generation) return [];
  const agent = after.created?.agent ?? '';
  const ms = Math.max(0, event.recordedAt - run.startedAt);
  const fact = event as RecordedFact;
  return [{ what: 'run-ended', agent, outcome: runOutcome(fact), error: runError(fact), ms }];
}

function runError(fact: RecordedFact): string | null {
  if (fact.type === 'run.failed') return fact.data.code;
  return fact.type === 'run.started' ? 'lost' : null;
}

function runOutcome(fact: RecordedFact): RunOutcome {
  switch (fact.type) {
    case 'session.final-response':
    case 'session.ended':
      return fact.data.outcome;
    case 'run.cancelled':
      return 'cancelled';
    case 'run.interrupted':
      return 'interrupted';
    case 'run.put-off':
      return 'put_off';
    case 'clarification.requested':
    case 'approval.requested':
      return 'asked';
    case 'run.started':
      return 'lost';
    default:
      return 'failed';
  }
}

function approvalOutcome(
  fact: Extract<RecordedFact, { type: 'approval.decided' | 'approval.expired' }>,
): Extract<Measure, { what: 'approval' }>['outcome'] {
  if (fact.type === 'approval.decided') return fact.data.decision === 'approve' ? 'approved' : 'denied';
  return fact.data.reason === 'time' ? 'expired' : 'superseded';
}

function tokens(model: string, used: { input_tokens: number; output_tokens: number }): Measure {
  return { what: 'tokens', model, input: used.input_tokens, output: used.output_tokens };
}

function outputOf(state: SessionState, version: number): OpenOutput | undefined {
  return state.outputs.find(({ output }) => output === version);
}

function delivery(
  { created }: SessionState,
  { via }: OpenOutput,
  outcome: DeliveryOutcome,
  attempt: number,
): Measure {
  const fallback = via === 'fallback_target' ? created?.fallbackTarget?.target : undefined;
  return { what: 'delivery', target: fallback ?? created?.deliver.target ?? '', outcome, attempt };
}
