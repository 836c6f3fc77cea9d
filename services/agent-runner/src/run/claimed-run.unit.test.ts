import type { RecordedEvent, SessionFact, SessionId } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import { decide, fold, initialState, type SessionCommand, type SessionState } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import { expect, it } from '@jest/globals';
import type { Claim } from '../claim/claim.ts';
import { ClaimedRun, type ClaimedRunDeps, nextStatus } from './claimed-run.ts';
import { RunLeases } from './run-leases.ts';
import { StopSwitch } from './stop-switch.ts';
import { StreamFollower } from './stream-follower.ts';

it('the last commands of a run are decided anew for each try: only then is it known how long Postgres was away', async () => {
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
  const follower = new StreamFollower({
    sessions: { refresh },
    pings: { subscribe: () => () => {} },
    logger,
  });
  const claim: Claim = {
    loaded,
    generation: 1,
    turn: 1,
    resource: 'run:s',
    since: performance.now() - 9_000,
  };
  const run = new ClaimedRun(claim, new StopSwitch(), { sessions, leases, follower, logger });
  await run.end(() => [
    { type: 'interrupt-run', generation: 1, reason: 'infrastructure', silentSeconds: run.silentSeconds() },
  ]);
  run.release();
  expect(said[0]).toBeGreaterThanOrEqual(9);
  // The first wait is 0.1 s, the next twice that.
  expect(said[2]).toBeGreaterThan((said[0] ?? 0) + 0.25);
});

/** A stream in memory that makes the real decisions. It loses the answers of these appends after their commit. */
function streamThatLosesAnswers(...lost: readonly number[]) {
  const events: RecordedEvent[] = [];
  const record = (facts: readonly SessionFact[]) => {
    for (const fact of facts)
      events.push({ ...fact, version: events.length + 1, recordedAt: events.length } as RecordedEvent);
  };
  const now = (): Loaded => ({
    id: 's' as SessionId,
    state: fold(events),
    events: [...events],
    version: events.length,
  });
  let appends = 0;
  return {
    now,
    types: () => events.map(({ type }) => type),
    given(command: SessionCommand): void {
      const decision = decide(now().state, command);
      if (!decision.ok) throw new Error(decision.reason);
      record(decision.events);
    },
    execute: (async (...[, decideOn]: Parameters<ClaimedRunDeps['sessions']['execute']>) => {
      const decision = decideOn(now());
      if (decision === null || !decision.ok)
        return { status: 'refused', loaded: now(), code: 'x', reason: 'x' };
      record(decision.events);
      appends += 1;
      if (lost.includes(appends)) throw Object.assign(new Error('away'), { retryable: true });
      return { status: decision.events.length > 0 ? 'appended' : 'nothing', loaded: now(), appended: [] };
    }) as unknown as ClaimedRunDeps['sessions']['execute'],
  };
}

it('a status whose append was committed but not answered is recorded once', async () => {
  const stream = streamThatLosesAnswers(1, 3);
  stream.given({
    type: 'create-session',
    route: 'r',
    event: null,
    deliveryId: 'd',
    title: 't',
    agent: 'a',
    deliver: { target: 'log', to: {}, untrusted_address: false },
    input: 'x',
  });
  const attempt = { resumed: false, attempt: 1, takeover: false };
  stream.given({ type: 'start-run', generation: 1, turn: 1, runner: 'me#1', ...attempt });
  const logger = { warn: () => {}, debug: () => {} } as unknown as Logger;
  const leases = new RunLeases({ renew: async () => [], seconds: 60, logger });
  const refresh = () => Promise.resolve(stream.now());
  const follower = new StreamFollower({
    sessions: { refresh },
    pings: { subscribe: () => () => {} },
    logger,
  });
  const claim: Claim = {
    loaded: stream.now(),
    generation: 1,
    turn: 1,
    resource: 'run:s',
    since: performance.now(),
  };
  const run = new ClaimedRun(claim, new StopSwitch(), { sessions: stream, leases, follower, logger });
  const step: SessionCommand = {
    type: 'record-model-response',
    generation: 1,
    step: 1,
    model: 'm',
    text: 'I look it up',
    toolCalls: [{ id: 'c', name: 'terminal', arguments: '{}' }],
    finishReason: 'tool-calls',
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  // First the model's own words beside its call; then two other statuses at once, one of them answered late.
  await run.append((state) => [step, nextStatus(state, 1, 'agent', 'I look it up')]);
  await Promise.all([
    run.reportStatus('progress', 'Still working'),
    run.reportStatus('fallback', 'Switching'),
  ]);
  run.release();
  expect(stream.types().slice(3)).toEqual([
    'model.responded',
    'session.interim-status',
    'session.interim-status',
    'session.interim-status',
  ]);
  const numbers = stream.now().events.map(({ data }) => (data as { sequence?: number }).sequence);
  expect(numbers.slice(4)).toEqual([1, 2, 3]);
});
