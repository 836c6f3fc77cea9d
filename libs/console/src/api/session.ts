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

/**
 * Asks again who is signed in: another tab may have signed in.
 * @throws ApiError if the gateway cannot be reached
 */
export function findSessionAgain(): Promise<ConsoleSession | null> {
  asked = session !== null;
  return findSession();
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
  return sendWithToken(
    new Request(new URL('/console/session', location.href), {
      method,
      headers: {
        Accept: 'application/json',
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  ).catch(() => {
    throw new ApiError(0, UNREACHABLE);
  });
}

const CHANGES_NOTHING = new Set(['GET', 'HEAD']);

/**
 * Sends a request to the gateway. The cookie says who it is; a change also needs the token that only our own page knows. If
 * another tab has signed in again, the cookie is that of the new session: then this tab asks for its token, and sends the
 * request once more. What is refused for its token has changed nothing.
 */
export async function sendWithToken(request: Request, send: typeof fetch = fetch): Promise<Response> {
  if (CHANGES_NOTHING.has(request.method)) return send(request);
  const again = request.clone();
  if (session !== null) request.headers.set(TOKEN_HEADER, session.csrf_token);
  const answer = await send(request);
  if (answer.status !== 403 || !(await isRefusedForToken(answer.clone()))) return answer;
  const found = await send(new Request(new URL('/console/session', request.url)));
  if (!found.ok) return answer;
  const own = (await found.json()) as ConsoleSession;
  setSession(own);
  again.headers.set(TOKEN_HEADER, own.csrf_token);
  return send(again);
}

const TOKEN_HEADER = 'X-Angelia-CSRF';

async function isRefusedForToken(answer: Response): Promise<boolean> {
  const body = (await answer.json().catch(() => null)) as { readonly code?: unknown } | null;
  return body?.code === 'csrf';
}

async function refusalOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as { error?: unknown };
  const seconds = Number.parseInt(response.headers.get('Retry-After') ?? '', 10);
  const text = typeof body.error === 'string' ? body.error : `The gateway answered ${response.status}.`;
  return new ApiError(response.status, text, Number.isNaN(seconds) ? null : seconds);
}
