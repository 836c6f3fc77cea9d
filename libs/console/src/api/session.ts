import { ApiError, UNREACHABLE } from './api-error.ts';

/** Who is signed in. It lives in memory only: the cookie, which scripts cannot read, survives a reload. */
export interface ConsoleSession {
  readonly actor: string;
  readonly csrf_token: string;
  readonly expires_at: string;
}

let session: ConsoleSession | null = null;
let asked = false;
const listeners = new Set<() => void>();

export const currentSession = (): ConsoleSession | null => session;

/** Calls `listener` when somebody signs in or out, or when the session is over. */
export function onSessionChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function setSession(next: ConsoleSession | null): void {
  const changed = next?.csrf_token !== session?.csrf_token;
  session = next;
  if (changed) for (const listener of listeners) listener();
}

/** A call got 401: the session was revoked, or its twelve hours are over. */
export function sessionIsOver(): void {
  setSession(null);
}

/**
 * The session of the cookie, or null. It asks the gateway once per page.
 * @throws ApiError if the gateway cannot be reached: then nobody knows.
 */
export async function findSession(): Promise<ConsoleSession | null> {
  if (session !== null || asked) return session;
  const response = await request('GET');
  if (response.ok) setSession((await response.json()) as ConsoleSession);
  else if (response.status !== 401) throw await refusalOf(response);
  asked = true;
  return session;
}

/** @throws ApiError with what to do: the link was used or is too old, the token is wrong, or too many were wrong. */
export async function signIn(proof: { readonly code: string } | { readonly token: string }): Promise<void> {
  const response = await request('POST', proof);
  if (!response.ok) throw await refusalOf(response);
  asked = true;
  setSession((await response.json()) as ConsoleSession);
}

/** @throws ApiError if the gateway did not revoke the session */
export async function signOut(): Promise<void> {
  const response = await request('DELETE');
  if (!response.ok && response.status !== 401) throw await refusalOf(response);
  setSession(null);
}

function request(method: string, body?: unknown): Promise<Response> {
  return fetch('/console/session', {
    method,
    headers: {
      Accept: 'application/json',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(session === null ? {} : { 'X-Angelia-CSRF': session.csrf_token }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new ApiError(0, UNREACHABLE);
  });
}

async function refusalOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as { error?: unknown };
  const seconds = Number.parseInt(response.headers.get('Retry-After') ?? '', 10);
  const text = typeof body.error === 'string' ? body.error : `The gateway answered ${response.status}.`;
  return new ApiError(response.status, text, Number.isNaN(seconds) ? null : seconds);
}
