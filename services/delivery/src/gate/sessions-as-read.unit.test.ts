import { sessionId } from '@angelia/contracts';
import type { Loaded } from '@angelia/sessions';
import { beforeEach, expect, it } from '@jest/globals';
import { SessionsAsRead } from './sessions-as-read.ts';

let now: number;
let sessions: SessionsAsRead;
beforeEach(() => {
  now = 0;
  sessions = new SessionsAsRead(() => now);
});

/** Only its id and version count here. */
const session = (n: number, version = 6) =>
  ({ id: sessionId(`00000000-0000-7000-8000-${String(n).padStart(12, '0')}`), version }) as Loaded;

it('a session is given back once', () => {
  sessions.keep(session(1));
  expect([sessions.take(session(1).id)?.version, sessions.take(session(1).id)]).toEqual([6, null]);
});

it('a session that waited for longer than two seconds is read again', () => {
  sessions.keep(session(1));
  now = 2_000;
  expect(sessions.take(session(1).id)).toBeNull();
});

it.each([
  [5, 6],
  [6, 6],
  [7, undefined],
  [0, undefined],
])('after a hint of version %i a session of version 6 is kept or read again: %s', (hinted, kept) => {
  sessions.keep(session(1));
  sessions.hinted(session(1).id, hinted);
  expect(sessions.take(session(1).id)?.version).toBe(kept);
});

it('at most 512 are kept, the newest', () => {
  for (let n = 0; n < 600; n += 1) sessions.keep(session(n));
  const kept = Array.from({ length: 600 }, (_, n) => n).filter((n) => sessions.take(session(n).id) !== null);
  expect([kept.length, kept[0]]).toEqual([512, 88]);
});
