import type { EventData } from '@angelia/contracts';
import type { OpenOutput, StateDraft } from '../state.ts';
import { ms } from '../time.ts';

/** Called with the output that was just delivered. A message without a receipt cannot be edited. */
export function rememberShown(
  draft: StateDraft,
  { output, buttons }: OpenOutput,
  receipt: string | null | undefined,
  at: number,
): void {
  if (buttons !== true || receipt == null) return;
  draft.shown = [...(draft.shown ?? []), { output, failures: 0, until: at }];
}

export function applyDeliveryUpdated(draft: StateDraft, { output }: EventData<'delivery.updated'>): void {
  draft.shown = (draft.shown ?? []).filter((question) => question.output !== output);
}

export function applyUpdateFailed(draft: StateDraft, data: EventData<'delivery.update-failed'>): void {
  draft.shown = (draft.shown ?? []).map((question) =>
    question.output === data.output
      ? { ...question, failures: question.failures + (data.counts ? 1 : 0), until: ms(data.retry_at) }
      : question,
  );
}
