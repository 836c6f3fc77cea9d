import { metrics } from '@angelia/service-kit';
import { retryCall } from '../retry-call.ts';
import { type Model, ModelFailure, type ModelReply, type ModelRequest } from './model.ts';

export type Guard = (call: () => Promise<ModelReply>) => Promise<ModelReply>;

/** @throws ModelFailure when the model has had its tries, and the signal's reason */
export function callWithRetry(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
  onFailedTry: (failure: ModelFailure, tries: number) => void = () => {},
  /** Around each try. May refuse it. */
  guard: Guard = (call) => call(),
): Promise<ModelReply> {
  return retryCall(
    () => guard(() => timedCall(model, request, signal)),
    signal,
    (failure, tries) => {
      if (failure instanceof ModelFailure) onFailedTry(failure, tries);
    },
  );
}

/** One try. Its duration and outcome are a metric. */
async function timedCall(model: Model, request: ModelRequest, signal: AbortSignal): Promise<ModelReply> {
  const startedAt = performance.now();
  const observe = (outcome: 'ok' | 'stopped' | ModelFailure['code']): void =>
    metrics.modelCallSeconds.observe({ model: model.name, outcome }, (performance.now() - startedAt) / 1000);
  try {
    const reply = await model.call(request, signal);
    observe('ok');
    return reply;
  } catch (error) {
    observe(error instanceof ModelFailure ? error.code : 'stopped');
    throw error;
  }
}
