import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EventType, eventSchemas, eventTypes, type RecordedEvent } from '@angelia/contracts';
import { fold, recover, type SessionSummary, sessionSummary, transcript } from '@angelia/session';
import { describe, expect, it } from '@jest/globals';
import { projectViews } from './project-views.ts';
import { upcast } from './upcast.ts';

/**
 * Histories as version 1 wrote them, from real runs of every kind (services over a real log, with crashes, cancels,
 * questions, processes, lost and repeated deliveries), and what version 1 read in them. Never rewrite them: if you change
 * the schema of an event, make `upcast` read these. Add new kinds as new files.
 */
const DIRECTORY = join(import.meta.dirname, 'corpus');
const POLICY = { freshnessSeconds: 3600, maxAttempts: 3, maxInterruptionSeconds: 86_400 };

interface History {
  readonly session: string;
  readonly events: readonly {
    readonly version: number;
    readonly type: string;
    readonly schema_version: number;
    readonly recorded_at: string;
    readonly data: unknown;
    readonly meta: RecordedEvent['meta'];
  }[];
  readonly expected: {
    readonly summary: SessionSummary;
    readonly transcript: readonly unknown[];
    readonly views: Record<string, unknown>;
    readonly recovery: unknown;
  };
}

const corpus = readdirSync(DIRECTORY).map((file) => ({
  name: file.replace('.json', ''),
  history: JSON.parse(readFileSync(join(DIRECTORY, file), 'utf8')) as History,
}));

/** The events as the log returns them, upcast. */
function read({ session, events }: History): RecordedEvent[] {
  return events.map(({ version, type, schema_version, recorded_at, data, meta }) =>
    upcast({
      position: version,
      streamId: session,
      version,
      type,
      schemaVersion: schema_version,
      eventId: `${session}-${version}`,
      data,
      meta,
      recordedAt: Date.parse(recorded_at),
    }),
  );
}

describe.each(corpus)('a history of version 1: $name', ({ history }) => {
  const { expected, session } = history;
  const events = read(history);
  const state = fold(events);

  it('has events of today’s schema', () => {
    for (const { type, data } of events) {
      expect(eventSchemas[type as EventType].safeParse(data).error).toBeUndefined();
    }
  });

  it('folds to the same session, the same conversation and the same next step', () => {
    // Newer code may add fields, but must not change any.
    expect(sessionSummary(session, state)).toMatchObject({ ...expected.summary });
    expect(transcript(events)).toEqual(expected.transcript);
    expect(recover(state, null, state.lastActivityAt + 1000, POLICY)).toEqual(expected.recovery);
  });

  it('has the same rows in the views', () => {
    expect(JSON.parse(JSON.stringify(projectViews(null, events)))).toMatchObject(expected.views);
  });
});

it('the corpus has every type of event and every outcome', () => {
  const all = corpus.flatMap(({ history }) => history.events);
  const types = new Set(all.map(({ type }) => type));
  expect(eventTypes.filter((type) => !types.has(type))).toEqual([]);
  const outcomes = new Set(corpus.map(({ history }) => history.expected.summary.outcome));
  expect(outcomes).toEqual(new Set([null, 'succeeded', 'failed', 'cancelled', 'expired']));
});
