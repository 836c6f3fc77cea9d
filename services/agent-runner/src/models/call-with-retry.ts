import { setTimeout as pause } from 'node:timers/promises';
import { metrics } from '@angelia/service-kit';
import { type Model, ModelFailure, type ModelReply, type ModelRequest } from './model.ts';

/** INTERFACES.md: a model is tried at most 3 times within 10 s before the next of `fallback_models`. */
export const MAX_TRIES = 3;
export const TRY_WINDOW_MS = 10_000;

/** Doubled per try, with jitter, so that many runs that failed together do not come back together. */
const FIRST_WAIT_MS = 500;

/** How long to wait before the next try; null when this model has had its chance. `random` in [0, 1). */
export function nextTry(
  failure: ModelFailure,
  tries: number,
  elapsedMs: number,
  random: number,
): number | null {
  if (!failure.retryable || tries >= MAX_TRIES) return null;
  const backoff = FIRST_WAIT_MS * 2 ** (tries - 1) * (0.5 + random / 2);
  const wait = Math.max(backoff, failure.retryAfterMs ?? 0);
  // A provider that wants more time than there is does not get a try that it said is in vain.
  return elapsedMs + wait > TRY_WINDOW_MS ? null : wait;
}

/** One try, and how it came out, for whoever watches the models. */
async function timed(model: Model, request: ModelRequest, signal: AbortSignal): Promise<ModelReply> {
  const begun = performance.now();
  const tell = (outcome: 'ok' | 'stopped' | ModelFailure['code']): void =>
    metrics.modelCallSeconds.observe({ model: model.name, outcome }, (performance.now() - begun) / 1000);
  try {
    const reply = await model.call(request, signal);
    tell('ok');
    return reply;
  } catch (error) {
    tell(error instanceof ModelFailure ? error.code : 'stopped');
    throw error;
  }
}

/** Throws the last ModelFailure when the model has had its chance. */
export async function callWithRetry(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
  onFailedTry: (failure: ModelFailure, tries: number) => void = () => {},
): Promise<ModelReply> {
  const begun = performance.now();
  for (let tries = 1; ; tries++) {
    try {
      return await timed(model, request, signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof ModelFailure)) throw error;
      onFailedTry(error, tries);
      const wait = nextTry(error, tries, performance.now() - begun, Math.random());
      if (wait === null) throw error;
      await pause(wait, undefined, { signal }).catch(() => {
        throw signal.reason;
      });
    }
  }
}
