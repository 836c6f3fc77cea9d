import type { UnstartedOutcome } from '@angelia/contracts';
import type { WebhookOutcome } from '@angelia/service-kit';
import { errorAnswer } from '../../http/answer-error.ts';
import { Refusal } from '../../http/refusal.ts';
import type { WebhookAnswer } from '../take-webhook.ts';

export interface Outcome {
  readonly outcome: UnstartedOutcome;
  /** A stable code of the event, filter or rule. From a closed set, because it labels a counter. */
  readonly reason: string;
  readonly status: number;
}

/** null: it started a session. */
export function outcomeOfAnswer(answer: WebhookAnswer): Outcome | null {
  if (answer.status === 202) return null;
  const { status, reason } = answer.body;
  if (status === 'ignored')
    return { outcome: 'ignored', reason: answer.why ?? String(reason ?? 'ignored'), status: 200 };
  if (status === 'duplicate') return { outcome: 'duplicate', reason: 'duplicate', status: 200 };
  return { outcome: 'handshake', reason: 'handshake', status: answer.status };
}

/** The label of the counter, which distinguishes three reasons to ignore a webhook. */
export function countedAs({ outcome, reason }: Outcome): WebhookOutcome {
  if (outcome !== 'ignored') return outcome;
  return reason === 'event' ? 'ignored_event' : reason === 'filter' ? 'ignored_filter' : 'ignored_script';
}

const byStatus: Readonly<Record<number, UnstartedOutcome>> = {
  401: 'unauthorized',
  403: 'disabled',
  404: 'unknown_route',
  409: 'busy',
  429: 'rate_limited',
  500: 'error',
  503: 'unavailable',
};

/** Where the status says less. Senders that crowd each other out are not an outage, which would wake somebody up. */
const byCode: Readonly<Record<string, UnstartedOutcome>> = {
  crowded_out: 'crowded_out',
  cross_site: 'unauthorized',
};

/** Readable names for errors that Fastify raises before our code sees the request. */
const reasons: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'wrong_length',
  // The request ended before its body: it was too slow, or the sender hung up.
  ECONNRESET: 'cut_off',
};
const CODE = /^[a-z][a-z_]{0,40}$/;

export function outcomeOfError(error: unknown): Outcome {
  const { status } = errorAnswer(error);
  const code = (error as { code?: unknown } | null)?.code;
  const known = typeof code === 'string' ? (reasons[code] ?? code) : '';
  const outcome = byCode[known] ?? byStatus[status] ?? 'bad_request';
  return { outcome, reason: CODE.test(known) ? known : 'other', status };
}

/** For the operator: why exactly. The sender is told no more than the message. */
export function detailOfError(error: unknown): string {
  return (error instanceof Refusal ? error.detail : null) ?? errorAnswer(error).message;
}
