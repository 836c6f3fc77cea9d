import type { EventData } from '@angelia/contracts';
import { askedAt, type OutputKind, type StateDraft, type StreamEvent } from '../state.ts';
import { closeTurn, recordSignOfLife } from '../turns/evolve-turns.ts';

/** An output of which its current target has received nothing yet. */
export const NOTHING_SENT = { taken: 0, unknowns: 0 } as const;

export function applyInterimStatus(
  draft: StateDraft,
  data: EventData<'session.interim-status'>,
  event: StreamEvent,
): void {
  addOutput(draft, 'interim-status', event, data.turn);
  // This status is not written by the run: it does not count among the run's statuses, and is no sign of life.
  if (data.kind === 'queued') return;
  if (draft.run !== null) draft.run = { ...draft.run, statuses: data.sequence ?? draft.run.statuses + 1 };
  // Not progress: a run that says "switching to fallback" and dies, again and again, must reach the cap on attempts.
  recordSignOfLife(draft, data.turn, event.recordedAt);
}

export function applyFinalResponse(
  draft: StateDraft,
  data: EventData<'session.final-response'>,
  event: StreamEvent,
): void {
  const turn = draft.turns.find((open) => open.turn === data.turn);
  draft.answered = { turn: data.turn, outcome: data.outcome, at: event.recordedAt };
  if (data.outcome === 'succeeded') draft.failure = null;
  closeTurn(draft, data.turn);
  if (!data.silent) addOutput(draft, 'final-response', event, data.turn, turn);
  draft.answerCut = data.cut === true;
}

export function addOutput(
  draft: StateDraft,
  kind: OutputKind,
  event: StreamEvent,
  turn: number,
  open = draft.turns.find((candidate) => candidate.turn === turn),
): void {
  draft.lastOutput = event.version;
  draft.outputs = [
    ...draft.outputs,
    {
      output: event.version,
      kind,
      turn,
      recordedAt: event.recordedAt,
      status: 'pending',
      attempts: 0,
      failures: 0,
      via: 'target',
      until: event.recordedAt,
      ...NOTHING_SENT,
      unknown: false,
      reason: null,
      askedAt: open === undefined ? null : askedAt(open),
    },
  ];
}
