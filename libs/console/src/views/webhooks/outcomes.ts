import type { UnstartedWebhook } from '../../api/calls/webhook-calls.ts';
import type { Tone } from '../../parts/feedback/badge.tsx';

type Outcome = UnstartedWebhook['outcome'];

/** What each outcome means for a person who looks for a webhook. */
export const OUTCOMES: Readonly<
  Record<Outcome, { readonly tone: Tone; readonly name: string; readonly means: string }>
> = {
  ignored: { tone: 'calm', name: 'Ignored', means: 'The route does not want it.' },
  duplicate: {
    tone: 'calm',
    name: 'Duplicate',
    means: 'It was accepted before; the session is the one of then.',
  },
  handshake: { tone: 'ok', name: 'Handshake', means: 'The sender checked the address.' },
  unauthorized: {
    tone: 'bad',
    name: 'Not authorized',
    means: 'The signature, the token or the time is wrong.',
  },
  rate_limited: {
    tone: 'wait',
    name: 'Rate limited',
    means: 'The route had its limit. The sender may try again.',
  },
  bad_request: { tone: 'bad', name: 'Bad request', means: 'The body could not be read.' },
  busy: { tone: 'wait', name: 'Busy', means: 'The keyed session was busy, and the route says to reject.' },
  disabled: { tone: 'calm', name: 'Disabled', means: 'The route is switched off.' },
  unknown_route: { tone: 'bad', name: 'Unknown route', means: 'The address names no route.' },
  unavailable: {
    tone: 'bad',
    name: 'Unavailable',
    means: 'The gateway could not accept it. The sender tries again.',
  },
  crowded_out: { tone: 'wait', name: 'Crowded out', means: 'Too many requests were under way at once.' },
  error: { tone: 'bad', name: 'Error', means: 'The gateway failed. Its log says why.' },
};

export const outcomeNames = Object.entries(OUTCOMES).map(([value, { name }]) => [value, name] as const);
