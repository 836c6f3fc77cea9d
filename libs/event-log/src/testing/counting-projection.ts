import type { RecordedEvent } from '@angelia/contracts';
import type { ProjectSession } from '../views/session-views.ts';

interface State {
  readonly route: string;
  readonly createdAt: number;
  readonly endedAt: number | null;
  /** The versions that it got, in order. Shows what was missed, repeated or out of order. */
  readonly seen: readonly number[];
}

/** Replaces the real projection: it takes any type, and some types have their own rows. It fails on `test.poison`. */
export const countingProjection: ProjectSession = (previous, events) => {
  const first = events[0] as RecordedEvent;
  const last = events.at(-1) as RecordedEvent;
  if (events.some((event) => event.type === 'test.poison')) throw new Error('this event cannot be projected');
  const before = (previous as State | null) ?? {
    route: 'none',
    createdAt: first.recordedAt,
    endedAt: null,
    seen: [],
  };
  const ended = events.find((event) => event.type === 'session.ended');
  const state: State = {
    route:
      (events.find((event) => event.type === 'session.created')?.data as State | undefined)?.route ??
      before.route,
    createdAt: before.createdAt,
    endedAt: ended?.recordedAt ?? before.endedAt,
    seen: [...before.seen, ...events.map((event) => event.version)],
  };
  const isEnded = state.endedAt !== null;
  return {
    state,
    session: {
      route: state.route,
      status: isEnded ? 'ended' : 'queued',
      outcome: isEnded ? 'succeeded' : null,
      agent: 'default',
      model: null,
      failure: null,
      title: 'a session',
      deliveryId: first.streamId,
      tokens: 0,
      waitingFor: null,
      waitingSince: null,
      continues: null,
      createdAt: state.createdAt,
      lastActivityAt: last.recordedAt,
      endedAt: state.endedAt,
      runDueAt: isEnded ? null : last.recordedAt,
      running: false,
      deliveryDueAt: null,
      processDueAt: null,
      settled: isEnded,
    },
    deliveries: events
      .filter((event) => event.type === 'session.final-response')
      .map(({ version, recordedAt }) => ({
        output: version,
        target: 'log',
        status: 'pending',
        attempts: 0,
        dueAt: recordedAt,
        updatedAt: recordedAt,
        detail: { kind: 'final-response' },
      })),
    processes: events
      .filter((event) => event.type === 'process.started')
      .map(({ streamId, version, recordedAt }) => ({
        processId: `proc_${streamId}_${version}`,
        status: 'running',
        updatedAt: recordedAt,
      })),
  };
};
