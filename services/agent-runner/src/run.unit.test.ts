import type { Loaded, Logger } from '@angelia/service-kit';
import { initialState, type SessionState } from '@angelia/session';
import { expect, it } from '@jest/globals';
import type { Claim } from './claim.ts';
import { RunLeases } from './leases.ts';
import { ClaimedRun, type ClaimedRunDeps } from './run.ts';
import { StopSwitch } from './run-stop.ts';
import { RunWatch } from './run-watch.ts';

it('what is said at the end of a run is decided anew for each try: how long Postgres was away is known only then', async () => {
  const state = {
    ...initialState(),
    created: {} as SessionState['created'],
    generation: 1,
    run: { generation: 1, turn: 1 },
    turns: [{ turn: 1 }],
  } as unknown as SessionState;
  const loaded = { id: 's', state, events: [], version: 3 } as unknown as Loaded;
  const said: number[] = [];
  const sessions = {
    execute: (async (...[, decideOn]: Parameters<ClaimedRunDeps['sessions']['execute']>) => {
      const decided = decideOn(loaded);
      if (decided === null || !decided.ok) throw new Error('refused');
      const [interrupted] = decided.events;
      if (interrupted?.type === 'run.interrupted') said.push(interrupted.data.silent_seconds);
      if (said.length < 3) throw Object.assign(new Error('away'), { retryable: true });
      return { status: 'appended', loaded, facts: [] };
    }) as unknown as ClaimedRunDeps['sessions']['execute'],
  };
  const logger = { warn: () => {}, debug: () => {} } as unknown as Logger;
  const leases = new RunLeases({ renew: async () => [], seconds: 1, logger });
  const refresh = () => Promise.resolve(loaded);
  const watch = new RunWatch({ sessions: { refresh }, pings: { subscribe: () => () => {} }, logger });
  const claim: Claim = {
    loaded,
    generation: 1,
    turn: 1,
    resource: 'run:s',
    since: performance.now() - 9_000,
  };
  const run = new ClaimedRun(claim, new StopSwitch(), { sessions, leases, watch, logger });
  await run.end(() => [
    { type: 'interrupt-run', generation: 1, reason: 'infrastructure', silentSeconds: run.silentSeconds() },
  ]);
  run.letGo();
  expect(said[0]).toBeGreaterThanOrEqual(9);
  // The first wait is a tenth of a second, the next twice that.
  expect(said[2]).toBeGreaterThan((said[0] ?? 0) + 0.25);
});
