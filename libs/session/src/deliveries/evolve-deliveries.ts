import type { EventData } from '@angelia/contracts';
import { NOTHING_SENT } from '../outputs/evolve-outputs.ts';
import { type OpenOutput, type StateDraft, shortened } from '../state.ts';
import { ms, seconds } from '../time.ts';
import { rememberShown } from './evolve-updates.ts';

/**
 * Unknown outcomes that are kept when a person asks for a retry. They know that the message may have arrived, so the
 * retry is treated like a resend after one unknown outcome, however many there were.
 */
const UNKNOWNS_KEPT_ON_RETRY = 1;

export function applyDeliveryAttempted(
  draft: StateDraft,
  data: EventData<'delivery.attempted'>,
  at: number,
): void {
  changeOutput(draft, data.output, (output) => ({
    status: 'attempting',
    attempts: data.attempt,
    via: data.via,
    until: at + seconds(data.deadline_seconds),
    unknowns: output.unknowns + (output.status === 'attempting' ? 1 : 0),
    unknown: output.unknown || output.status === 'attempting' || data.possible_duplicate,
    ...(data.buttons === true ? { buttons: true } : {}),
  }));
}

export function applyChunkTaken(
  draft: StateDraft,
  data: EventData<'delivery.chunk-taken'>,
  at: number,
): void {
  changeOutput(draft, data.output, () => ({
    taken: data.chunk,
    unknowns: 0,
    until: at + seconds(data.deadline_seconds),
  }));
}

export function applyDeliveryFailed(draft: StateDraft, data: EventData<'delivery.failed'>): void {
  changeOutput(draft, data.output, (output) => ({
    status: 'retry',
    until: ms(data.retry_at),
    failures: output.failures + (data.counts ? 1 : 0),
    unknowns: output.unknowns + (data.unknown === true ? 1 : 0),
    unknown: output.unknown || data.unknown === true,
    reason: shortened(data.reason),
  }));
}

export function applyDeliverySucceeded(
  draft: StateDraft,
  data: EventData<'delivery.succeeded'>,
  at: number,
): void {
  const output = draft.outputs.find((open) => open.output === data.output);
  if (!removeOutput(draft, data.output)) return;
  draft.delivered += 1;
  if (output !== undefined) rememberShown(draft, output, data.receipt, at);
}

export function applyDeliveryDropped(draft: StateDraft, data: EventData<'delivery.dropped'>): void {
  if (removeOutput(draft, data.output)) draft.dropped += 1;
}

/** Goes on at the fallback target if there is one and this was not it. */
export function applyDeliveryDead(draft: StateDraft, data: EventData<'delivery.dead'>, at: number): void {
  const fallback = draft.created?.fallbackTarget ?? null;
  changeOutput(draft, data.output, (output) =>
    output.via === 'target' && fallback !== null
      ? {
          status: 'pending',
          via: 'fallback_target',
          failures: 0,
          until: at,
          reason: shortened(data.reason),
          unknown: output.unknown || output.taken > 0,
          ...NOTHING_SENT,
          // After a requested retry this is not the first time: the fallback target may have the message already.
          unknowns: output.mayBeAtFallback ? UNKNOWNS_KEPT_ON_RETRY : 0,
        }
      : { status: 'dead', until: at, reason: shortened(data.reason) },
  );
}

export function applyRetryRequested(
  draft: StateDraft,
  data: EventData<'delivery.retry-requested'>,
  at: number,
): void {
  changeOutput(draft, data.output, (output) => ({
    status: 'pending',
    via: 'target',
    failures: 0,
    until: at,
    // Back from the fallback target: how much the first target has is no longer known, only that it may have some.
    ...(output.via === 'target'
      ? {}
      : {
          taken: 0,
          mayBeAtFallback: output.mayBeAtFallback === true || output.unknowns > 0 || output.taken > 0,
        }),
    unknowns: Math.min(
      output.via === 'target' ? output.unknowns : Number(output.unknown),
      UNKNOWNS_KEPT_ON_RETRY,
    ),
  }));
}

function changeOutput(
  draft: StateDraft,
  version: number,
  change: (output: OpenOutput) => Partial<OpenOutput>,
): void {
  draft.outputs = draft.outputs.map((output) =>
    output.output === version ? { ...output, ...change(output) } : output,
  );
}

/** Whether it was there. */
function removeOutput(draft: StateDraft, version: number): boolean {
  const left = draft.outputs.filter((output) => output.output !== version);
  const removed = left.length < draft.outputs.length;
  draft.outputs = left;
  return removed;
}
