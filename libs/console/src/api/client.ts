import createClient, { type Middleware } from 'openapi-fetch';
import { ApiError, UNREACHABLE } from './api-error.ts';
import type { components, paths } from './schema.ts';
import { sendWithToken, sessionIsOver } from './session.ts';

export type Schema = components['schemas'];

const noticeSignOut: Middleware = {
  onResponse({ response }) {
    if (response.status === 401) sessionIsOver();
    return undefined;
  },
};

/** Every call of `/v1`, by its path in the OpenAPI document. */
export const api = createClient<paths>({
  baseUrl: globalThis.location?.origin ?? '',
  fetch: (request) => sendWithToken(request),
});
api.use(noticeSignOut);

interface Answered<T> {
  readonly data?: T;
  readonly error?: unknown;
  readonly response: Response;
}

/**
 * The answer of a call, or an error that a view can show.
 * @throws ApiError
 */
export async function ask<T>(call: Promise<Answered<T>>): Promise<NonNullable<T>> {
  const { data, error, response } = await call.catch((cause: unknown) => {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause;
    throw new ApiError(0, UNREACHABLE);
  });
  if (response.ok) return (data ?? {}) as NonNullable<T>;
  const retryAfter = Number.parseInt(response.headers.get('Retry-After') ?? '', 10);
  throw new ApiError(
    response.status,
    errorText(error) ?? `The gateway answered ${response.status}.`,
    Number.isNaN(retryAfter) ? null : retryAfter,
  );
}

function errorText(body: unknown): string | null {
  if (typeof body !== 'object' || body === null || !('error' in body)) return null;
  return typeof body.error === 'string' ? body.error : null;
}
