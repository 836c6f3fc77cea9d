import { type Config, holderId } from '@angelia/contracts';
import { decide, evolveAll, initialState, type SessionCommand, type SessionState } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import { describe, expect, it } from '@jest/globals';
import { type ClaimDeps, claim, judge } from './claim.ts';

type Execute = ClaimDeps['sessions']['execute'];

describe('a claim', () => {
  it('uses the captured limit of a route made by API that has the name of a property of every object', async () => {
    let pool: unknown;
    const execute = (async (_id, _decide, options) => {
      pool = options?.lease !== undefined && 'pool' in options.lease ? options.lease.pool : undefined;
      return { status: 'full' };
    }) as Execute;
    const loaded = {
      id: 's',
      state: { generation: 0, created: { route: 'constructor', maxConcurrency: 2 }, turns: [] },
    } as unknown as Loaded;
    const verdict = { action: 'resume', turn: 1, resumed: false, attempt: 1, takeover: false } as const;
    const config = { routes: {}, timing: { lease_seconds: 1 } } as unknown as Config;
    await claim(loaded, verdict as unknown as Parameters<typeof claim>[1], {
      config: { current: config },
      sessions: { execute },
      log: { leases: { read: () => Promise.reject(new Error('not asked')) }, status: { lastAwayAt: null } },
      holder: holderId('a', 'test'),
    });
    expect(pool).toEqual({ name: 'route:constructor', capacity: 2 });
  });

  it('is not made when a coalesced webhook has moved the window meanwhile', async () => {
    const at = (startAfter: number): SessionState => {
      const turns = [{ turn: 1, startAfter, startedAt: null }] as unknown as SessionState['turns'];
      return { ...initialState(), version: 2, created: {} as SessionState['created'], lastTurn: 1, turns };
    };
    const tried = async (now: SessionState) => {
      const decided: unknown[] = [];
      const execute = (async (id, decideOn) => {
        decided.push(decideOn({ id, state: now } as Loaded));
        return { status: 'nothing' };
      }) as Execute;
      const loaded = { id: 's', state: at(1_000) } as unknown as Loaded;
      const verdict = { action: 'resume', turn: 1, resumed: false, attempt: 1, takeover: false } as const;
      await claim(loaded, verdict, {
        config: { current: { routes: {}, timing: { lease_seconds: 1 } } as unknown as Config },
        sessions: { execute },
        log: { leases: { read: () => Promise.reject(new Error('not asked')) }, status: { lastAwayAt: null } },
        holder: holderId('a', 'test'),
      });
      return decided;
    };
    expect(await tried(at(1_000))).toMatchObject([{ ok: true }]);
    expect(await tried(at(3_000))).toEqual([null]);
  });

  it('is not made when the original runner has reported its interruption meanwhile, which does not count', async () => {
    const at = (run: { generation: number } | null, attempts: number) => {
      const turns = [
        { turn: 1, startAfter: null, startedAt: 1, attempts },
      ] as unknown as SessionState['turns'];
      const created = {} as SessionState['created'];
      return {
        ...initialState(),
        version: 3,
        created,
        generation: 1,
        lastTurn: 1,
        turns,
        run,
      } as SessionState;
    };
    const lost = at({ generation: 1 }, 1);
    const tried = async (now: SessionState) => {
      const decided: unknown[] = [];
      const execute = (async (id, decideOn) => {
        decided.push(decideOn({ id, state: now } as Loaded));
        return { status: 'nothing' };
      }) as Execute;
      const verdict = { action: 'resume', turn: 1, resumed: true, attempt: 2, takeover: true } as const;
      await claim({ id: 's', state: lost } as unknown as Loaded, verdict, {
        config: { current: { routes: {}, timing: { lease_seconds: 1 } } as unknown as Config },
        sessions: { execute },
        log: { leases: { read: () => Promise.reject(new Error('not asked')) }, status: { lastAwayAt: null } },
        holder: holderId('a', 'test'),
      });
      return decided;
    };
    expect(await tried(lost)).toMatchObject([{ ok: true }]);
    expect(await tried(at(null, 0))).toEqual([null]);
  });
});

describe('the time by which a session is judged', () => {
  const NOON = Date.parse('2026-01-01T12:00:00.000Z');
  const config = { agents: {}, routes: {}, timing: { lease_seconds: 1 } } as unknown as Config;

  /** Recorded at noon; `now` is the database's time. This machine's own clock is years ahead or behind. */
  async function judged(now: number, created: Partial<SessionCommand>, more: readonly SessionCommand[] = []) {
    const first = {
      type: 'create-session',
      route: 'hook',
      event: null,
      deliveryId: 'd',
      title: 't',
      agent: 'default',
      deliver: { target: 'log', to: {}, untrusted_address: false },
      input: 'i',
      ...created,
    } as SessionCommand;
    let state = initialState();
    for (const command of [first, ...more]) {
      const decision = decide(state, command);
      if (!decision.ok) throw new Error(decision.reason);
      state = evolveAll(
        state,
        decision.events.map((event, i) => ({ ...event, version: state.version + 1 + i, recordedAt: NOON })),
      );
    }
    let asked = 0;
    const verdict = await judge({ id: 's', state, events: [], version: state.version } as unknown as Loaded, {
      config: { current: config },
      sessions: { execute: () => Promise.reject(new Error('not asked')) },
      log: {
        status: { lastAwayAt: null },
        leases: {
          read: async () => {
            asked += 1;
            return { lease: null, now };
          },
        },
      },
      holder: holderId('a', 'test'),
    });
    return { action: verdict.action, asked };
  }
  const start: SessionCommand = {
    type: 'start-run',
    generation: 1,
    turn: 1,
    runner: 'r#1',
    resumed: false,
    attempt: 1,
    takeover: false,
  };
  const interrupted: SessionCommand[] = [start, { type: 'interrupt-run', generation: 1, reason: 'drain' }];

  it.each([
    ['a coalescing window that is open', { startAfter: NOON + 1_000 }, [], 'wait', 'resume'],
    ['a deadline in the queue', { queueDeadline: NOON + 1_000 }, [], 'resume', 'expire'],
  ] as const)('is the database’s: %s', async (_what, created, more, before, after) => {
    expect(await judged(NOON, created, more)).toEqual({ action: before, asked: 1 });
    expect(await judged(NOON + 2_000, created, more)).toEqual({ action: after, asked: 1 });
  });

  it('is the database’s: an interruption that has lasted too long', async () => {
    expect(await judged(NOON + 86_000_000, {}, interrupted)).toEqual({ action: 'resume', asked: 1 });
    expect(await judged(NOON + 87_000_000, {}, interrupted)).toEqual({ action: 'expire', asked: 1 });
  });

  it('is not read if it is not needed: a turn that nobody started', async () => {
    expect(await judged(NOON, {})).toEqual({ action: 'resume', asked: 0 });
  });
});
