import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LoggedEvent } from './history.ts';
import type { ChaosResult } from './run.ts';

/** A few are enough to see what happened. */
const MOST_SESSIONS = 4;
const MOST_LINES = 60;
const MOST_CHARACTERS = 240;

/** What the log, the services and the schedule say about the sessions with violations. */
export function explained({ violations, history }: ChaosResult, logs: string): string {
  const unsettled = unsettledIn(history.events);
  const sessions = [...new Set([...violations.flatMap(({ session }) => session ?? []), ...unsettled])];
  if (sessions.length === 0) return 'nothing to explain';
  const faults = history.faults.map(
    ({ fault, from, until }) => `${time(from)}-${time(until)} ${JSON.stringify(fault)}`,
  );
  const lines = existsSync(logs)
    ? readdirSync(logs).flatMap((name) => readFileSync(join(logs, name), 'utf8').split('\n'))
    : [];
  return [
    ...faults,
    ...sessions.slice(0, MOST_SESSIONS).flatMap((id) => [
      `--- ${id}`,
      ...history.events.filter(({ stream }) => stream === id).map(inOneLine),
      ...lines
        .filter((line) => line.includes(id))
        .slice(-MOST_LINES)
        .map((line) => line.slice(0, MOST_CHARACTERS)),
    ]),
  ].join('\n');
}

function unsettledIn(events: readonly LoggedEvent[]): string[] {
  const ended = new Set(events.filter(({ type }) => type === 'session.ended').map(({ stream }) => stream));
  const created = events.filter(({ type }) => type === 'session.created').map(({ stream }) => stream);
  return created.filter((stream) => !ended.has(stream));
}

function inOneLine({ recordedAt, version, type, data }: LoggedEvent): string {
  return `${time(recordedAt)} ${version} ${type} ${JSON.stringify(data)}`.slice(0, MOST_CHARACTERS);
}

const time = (at: number): string => new Date(at).toISOString().slice(11, 23);
