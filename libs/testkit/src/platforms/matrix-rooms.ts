/** The rooms of a homeserver: one stream of events, as /sync and /messages show it. */

export interface RoomEvent {
  readonly event_id: string;
  readonly type: string;
  readonly sender: string;
  readonly origin_server_ts: number;
  readonly content: Readonly<Record<string, unknown>>;
  readonly state_key?: string;
  readonly unsigned?: Readonly<Record<string, unknown>>;
}

interface Logged {
  readonly position: number;
  readonly room: string;
  readonly event: RoomEvent;
}

export interface MatrixRooms {
  add(room: string, event: Omit<RoomEvent, 'origin_server_ts'>): void;
  membership(room: string, user: string): string | null;
  joined(room: string): string[];
  /** The answer to /sync; null: nothing happened since. @throws Error: a malformed token */
  sync(user: string, since: string | null, types: readonly string[], limit: number): unknown;
  messages(room: string, from: string, to: string | null, types: readonly string[], limit: number): unknown;
  /** Resolves when something happens, or after this time, or when all is over. */
  wait(ms: number): Promise<void>;
  stop(): void;
}

export function matrixRooms(): MatrixRooms {
  const log: Logged[] = [];
  const waiting = new Set<() => void>();
  const wakeAll = () => {
    for (const wake of [...waiting]) wake();
  };

  const memberships = (room: string) => {
    const found = new Map<string, { readonly is: string; readonly since: number }>();
    for (const { room: of, event, position } of log) {
      if (of !== room || event.type !== 'm.room.member' || event.state_key === undefined) continue;
      found.set(event.state_key, { is: String(event.content.membership), since: position });
    }
    return found;
  };
  const inRoom = (room: string, types: readonly string[]) =>
    log.filter((one) => one.room === room && types.includes(one.event.type));

  function timeline(room: string, from: number, types: readonly string[], limit: number) {
    const found = inRoom(room, types).filter(({ position }) => position > from);
    const shown = found.slice(-limit);
    const first = shown[0]?.position ?? log.length + 1;
    return {
      events: shown.map(({ event }) => event),
      limited: found.length > shown.length,
      prev_batch: `t${first}`,
    };
  }

  return {
    add(room, event) {
      log.push({ position: log.length + 1, room, event: { ...event, origin_server_ts: Date.now() } });
      wakeAll();
    },
    membership: (room, user) => memberships(room).get(user)?.is ?? null,
    joined: (room) => [...memberships(room)].filter(([, { is }]) => is === 'join').map(([user]) => user),
    sync(user, since, types, limit) {
      const from = since === null ? 0 : positionIn(since, 's');
      const join: Record<string, unknown> = {};
      const invite: Record<string, unknown> = {};
      for (const room of new Set(log.map((one) => one.room))) {
        const mine = memberships(room).get(user);
        if (mine?.is === 'join') {
          // A room that the user has just joined comes with its history.
          const shown = timeline(room, mine.since > from ? 0 : from, types, limit);
          const isNews = log.some((one) => one.room === room && one.position > from);
          if (shown.events.length > 0 && isNews) {
            join[room] = { timeline: shown, state: { events: [] }, ephemeral: { events: [] }, summary: {} };
          }
        } else if (mine?.is === 'invite' && mine.since > from) {
          const events = inRoom(room, ['m.room.member', 'm.room.name']).map(({ event }) => event);
          invite[room] = { invite_state: { events } };
        }
      }
      const isEmpty = Object.keys(join).length + Object.keys(invite).length === 0;
      if (since !== null && isEmpty) return null;
      return { next_batch: `s${log.length}`, rooms: { join, invite }, presence: { events: [] } };
    },
    messages(room, from, to, types, limit) {
      const before = positionIn(from, 't');
      const after = to === null ? 0 : positionIn(to, 's');
      const found = inRoom(room, types)
        .filter(({ position }) => position < before && position > after)
        .reverse();
      const chunk = found.slice(0, limit);
      const last = chunk.at(-1);
      return {
        start: from,
        chunk: chunk.map(({ event }) => event),
        ...(found.length > chunk.length && last !== undefined ? { end: `t${last.position}` } : {}),
      };
    },
    wait: (ms) =>
      new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          waiting.delete(done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        waiting.add(done);
      }),
    stop: wakeAll,
  };
}

function positionIn(token: string, letter: 's' | 't'): number {
  const [, number] = new RegExp(`^${letter}(\\d+)$`).exec(token) ?? [];
  if (number === undefined) throw new Error(`token ${token}`);
  return Number(number);
}
