import { z } from 'zod';

/** A session's id is its stream id: a whole uuid, never shown shortened (seed 000). */
export type SessionId = string & { readonly __brand: 'SessionId' };

/** Who is at work: the stable instance name and a fresh part per process, `agent-runner-2#5f3c...`. */
export type HolderId = string & { readonly __brand: 'HolderId' };

const SESSION_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export const sessionIdSchema = z
  .string()
  .regex(SESSION_ID, 'a session id is a whole lower-case uuid')
  .transform((id) => id as SessionId);

export function isSessionId(text: string): text is SessionId {
  return SESSION_ID.test(text);
}

/** Inside the system ids come from the log or from our own generator: they are trusted. */
export function sessionId(text: string): SessionId {
  return text as SessionId;
}

export function holderId(instance: string, incarnation: string): HolderId {
  return `${instance}#${incarnation}` as HolderId;
}

/** The lease of whoever runs a session (the agenda's SQL says the same). */
export function runResource(id: string): string {
  return `run:${id}`;
}

/** The lease of the watcher that carries out a session's commands. */
export function watchResource(id: string): string {
  return `watch:${id}`;
}

/** The lease by which the others know that a watcher is there: its sessions' files are on its host. */
export function watcherResource(instance: string): string {
  return `watcher:${instance}`;
}

/** The stable name in front of the incarnation: a restarted service frees what its dead predecessor held. */
export function instanceOf(holder: HolderId): string {
  const cut = holder.lastIndexOf('#');
  return cut < 0 ? holder : holder.slice(0, cut);
}
