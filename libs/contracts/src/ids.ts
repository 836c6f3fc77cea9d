/** The id of a session is its stream id: a uuid, never shown shortened (seed 000). */
export type SessionId = string & { readonly __brand: 'SessionId' };

/** Names a running process: the stable instance name and a part that is new for each process, `agent-runner-2#5f3c...`. */
export type HolderId = string & { readonly __brand: 'HolderId' };

const SESSION_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isSessionId(text: string): text is SessionId {
  return SESSION_ID.test(text);
}

/** Inside the system, ids come from the log or from our own generator, so they are trusted. */
export function sessionId(text: string): SessionId {
  return text as SessionId;
}

export function holderId(instance: string, incarnation: string): HolderId {
  return `${instance}#${incarnation}` as HolderId;
}

/** The lease of the runner of a session. The SQL of the agenda uses the same name. */
export function runResource(id: string): string {
  return `run:${id}`;
}

/** The lease of the watcher that carries out the commands of a session. */
export function watchResource(id: string): string {
  return `watch:${id}`;
}

/** The lease that shows the other services that a watcher is alive. The files of its sessions are on its host. */
export function watcherResource(instance: string): string {
  return `watcher:${instance}`;
}

/** The stable name before the `#`. With it a restarted service frees the leases of its dead predecessor. */
export function instanceOf(holder: HolderId): string {
  const cut = holder.lastIndexOf('#');
  return cut < 0 ? holder : holder.slice(0, cut);
}
