import type { Delivery, DeliveryFilter } from '../../api/calls/delivery-calls.ts';
import type { JobFilter } from '../../api/calls/job-calls.ts';
import type { Tone } from '../../parts/feedback/badge.tsx';

export const DELIVERY_STATES: Readonly<
  Record<Delivery['status'], { readonly tone: Tone; readonly name: string }>
> = {
  pending: { tone: 'busy', name: 'Pending' },
  dead: { tone: 'bad', name: 'Dead' },
  delivered: { tone: 'ok', name: 'Delivered' },
  dropped: { tone: 'calm', name: 'Dropped' },
};

export const KINDS: Readonly<Record<Delivery['kind'], string>> = {
  'interim-status': 'status',
  clarification: 'question',
  approval: 'request for approval',
  'final-response': 'answer',
};

/** The filter of the list as that of a job: it retries dead deliveries, so it has no `status`. */
export function retryFilterOf({ status: _, ...rest }: DeliveryFilter): JobFilter {
  return Object.fromEntries(
    Object.entries(rest).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** Attempts with what comes next: `3 attempts`, `no attempt yet`. */
export function attemptsText({ attempts }: Pick<Delivery, 'attempts'>): string {
  if (attempts === 0) return 'no attempt yet';
  return attempts === 1 ? '1 attempt' : `${attempts} attempts`;
}
