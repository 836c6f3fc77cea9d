import { sessionId } from '@angelia/contracts';
import { type EventLog, openEventLog } from '@angelia/event-log';
import { runProjection } from '@angelia/event-log/leading';
import { type CreateSession, decide, type SessionCommand, type SessionState } from '@angelia/session';
import { KeyedSessions, type Loaded, newSessionId, projectViews, Sessions } from '@angelia/sessions';
import { createTestDatabase, eventually, PATIENT, type TestDatabase } from '@angelia/testkit';
import { WakeUp } from '@angelia/waiting';
import type { Tools } from '../actions/action.ts';

/** A log with sessions and live views, and what jobs work with. */
export interface World {
  readonly database: TestDatabase;
  readonly log: EventLog;
  readonly sessions: Sessions;
  readonly pings: string[];
  readonly hints: object[];
  /** The tools of one more leader, on a log that the test may break. */
  readonly toolsOn: (log: EventLog) => Tools;
  readonly does: (id: string, command: (state: SessionState) => SessionCommand) => Promise<Loaded>;
  readonly queued: (over?: Partial<CreateSession>) => Promise<string>;
  readonly succeeded: (over?: Partial<CreateSession>) => Promise<string>;
  readonly failed: (over?: Partial<CreateSession>) => Promise<string>;
  /** Its answer could not be delivered. */
  readonly undelivered: (over?: Partial<CreateSession>) => Promise<string>;
  readonly givesUpDelivery: (id: string) => Promise<void>;
  readonly delivers: (id: string) => Promise<void>;
  /** Everything that was appended is in the views. */
  readonly viewsUpToDate: () => Promise<unknown>;
  close(): Promise<void>;
}

export async function openWorld(): Promise<World> {
  const database = await createTestDatabase();
  const wake = new WakeUp();
  const log = openEventLog({
    url: database.url,
    instance: 'world',
    holder: 'world#1',
    timeouts: PATIENT,
    onCommitted: () => wake.wake(),
  });
  const sessions = new Sessions({ log, instance: 'world' });
  const pings: string[] = [];
  const hints: object[] = [];
  const stopping = new AbortController();
  const projecting = runProjection({
    log,
    leadEpoch: 1,
    signal: stopping.signal,
    wake,
    project: projectViews,
  });
  // No relay runs here, and nothing is erased that the relay has not passed.
  await database.query("UPDATE angelia.checkpoints SET epoch = 1000 WHERE name = 'relay'");

  const does: World['does'] = async (id, command) => {
    const executed = await sessions.execute(sessionId(id), ({ state }) => decide(state, command(state)));
    if (executed.status !== 'appended') throw new Error(`${executed.status}: ${JSON.stringify(executed)}`);
    return executed.loaded;
  };
  const queued: World['queued'] = async (over = {}) => {
    const id = newSessionId();
    await does(id, () => ({ ...FIRST, deliveryId: `d-${id}`, ...over }));
    return id;
  };
  const startsRun = (id: string) =>
    does(id, (state) => ({
      type: 'start-run',
      generation: state.generation + 1,
      turn: state.turns[0]?.turn ?? 0,
      runner: 'world',
      resumed: false,
      attempt: 1,
      takeover: false,
    }));
  const attempts = (id: string) =>
    does(id, (now) => ({
      type: 'attempt-delivery',
      output: now.outputs[0]?.output ?? 0,
      attempt: (now.outputs[0]?.attempts ?? 0) + 1,
      sender: 'world',
      deadlineSeconds: 60,
      now: Date.now(),
    }));
  const delivers: World['delivers'] = async (id) => {
    const sent = (await attempts(id)).state.outputs[0];
    await does(id, () => ({
      type: 'succeed-delivery',
      output: sent?.output ?? 0,
      attempt: sent?.attempts ?? 0,
      receipt: null,
    }));
  };
  const givesUpDelivery: World['givesUpDelivery'] = async (id) => {
    const sent = (await attempts(id)).state.outputs[0];
    await does(id, () => ({
      type: 'give-up-delivery',
      output: sent?.output ?? 0,
      attempt: sent?.attempts ?? 0,
      via: 'target',
      reason: 'gone for good',
    }));
  };
  return {
    database,
    log,
    sessions,
    pings,
    hints,
    toolsOn: (own) => {
      const ownSessions = new Sessions({ log: own, instance: own.instance });
      return {
        log: own,
        sessions: ownSessions,
        keyed: new KeyedSessions({ log: own, sessions: ownSessions, instance: own.instance }),
        bus: {
          ping: (subject) => void pings.push(subject),
          publishHints: async (some) => void hints.push(...some),
        },
      };
    },
    does,
    queued,
    delivers,
    givesUpDelivery,
    succeeded: async (over) => {
      const id = await queued(over);
      const { state } = await startsRun(id);
      await does(id, () => ({ type: 'finish-turn', generation: state.generation, text: 'done' }));
      await delivers(id);
      return id;
    },
    failed: async (over) => {
      const id = await queued(over);
      const { state } = await startsRun(id);
      await does(id, () => ({
        type: 'fail-run',
        generation: state.generation,
        code: 'timeout',
        message: 'm',
        text: 'sorry',
      }));
      await delivers(id);
      return id;
    },
    undelivered: async (over) => {
      const id = await queued(over);
      const { state } = await startsRun(id);
      await does(id, () => ({ type: 'finish-turn', generation: state.generation, text: 'done' }));
      await givesUpDelivery(id);
      return id;
    },
    viewsUpToDate: () => eventually(async () => (await behind(database)) === 0),
    close: async () => {
      stopping.abort();
      await projecting;
      await log.close();
      await database.drop();
    },
  };
}

const FIRST: CreateSession = {
  type: 'create-session',
  route: 'r',
  event: null,
  deliveryId: 'd',
  title: 'a session',
  agent: 'default',
  deliver: { target: 'log', to: {}, untrusted_address: false },
  input: 'hello',
};

/** Not by the lag of the projection: it does not count what an open transaction hides. */
async function behind(database: TestDatabase): Promise<number> {
  const rows = await database.query(
    `SELECT FROM angelia.events e LEFT JOIN angelia.sessions s ON s.session_id = e.stream_id
     WHERE e.stream_id ~ '^[0-9a-f]{8}-' AND (s.version IS NULL OR s.version < e.version)`,
  );
  return rows.length;
}
