import { type SessionId, sessionId } from '@angelia/contracts';
import { createLogger } from '@angelia/service-kit';
import type { PutOff } from '@angelia/session';
import { describe, expect, it } from '@jest/globals';
import { ModelFailure, type ModelFailureCode } from '../models/model.ts';
import { ModelCircuits, ModelPaused, type Recovery } from './model-circuits.ts';

const logger = createLogger({ service: 'agent-runner', instance: 'test', level: 'silent' });
const [s1, s2, s3] = ['s1', 's2', 's3'].map((id) => sessionId(id)) as [SessionId, SessionId, SessionId];
/** Pauses of 1 s, then 2 s, 4 s, 8 s and at most 10 s. */
const schedules = [[1, 10]];

function world() {
  const clock = { now: 0 };
  const recoveries: Recovery[] = [];
  const circuits = new ModelCircuits({
    schedules,
    logger,
    onBack: (recovery) => recoveries.push(recovery),
    now: () => clock.now,
  });
  const calls: string[] = [];
  /** One try of a call. */
  const call = (session: SessionId, failure?: ModelFailure | Promise<string>, model = 'main') =>
    circuits
      .call<string>(model, session, (tryOnce) =>
        tryOnce(async () => {
          calls.push(`${session} ${model}`);
          if (failure instanceof ModelFailure) throw failure;
          return (await failure) ?? 'answer';
        }),
      )
      .catch((error: unknown) => (error instanceof ModelPaused ? 'not called' : 'failed'));
  const admits = (session: SessionId, putOff: PutOff | null = null, models = ['main']) =>
    circuits.admit(session, models, putOff)?.map(({ pausedMs }) => pausedMs) ?? 'go';
  const goDown = async () => {
    for (let n = 0; n < 5; n += 1) await call(s1, failed('unavailable'));
  };
  return { circuits, clock, recoveries, calls, call, admits, goDown };
}

const failed = (code: ModelFailureCode, retryAfterMs: number | null = null) =>
  new ModelFailure(code, `model main: ${code}`, { retryable: false, retryAfterMs });
const putOff = (model: string): PutOff => ({
  since: 0,
  count: 1,
  retryAt: 0,
  waiting: true,
  reason: 'unavailable',
  models: [{ model, code: 'connect' }],
  resumed: false,
});

describe('a model that works', () => {
  it('is called by everybody', async () => {
    const { admits, call } = world();
    expect([admits(s1), admits(s2)]).toEqual(['go', 'go']);
    expect(await call(s1)).toBe('answer');
  });

  it('is there even if it refuses a request', async () => {
    const { circuits, call, admits } = world();
    for (let n = 0; n < 9; n += 1) await call(s1, failed('refused'));
    expect(admits(s2)).toBe('go');
    expect(circuits.down).toEqual([]);
  });
});

describe('a model that is down', () => {
  it('is not called after five failed tries in a row, and its sessions are put off until the next probe', async () => {
    const { goDown, call, calls, admits, clock, circuits } = world();
    await goDown();
    clock.now = 400;
    expect(await call(s2)).toBe('not called');
    expect(admits(s2)).toEqual([600]);
    expect(calls).toHaveLength(5);
    expect(circuits.down).toMatchObject([{ model: 'main', reason: 'unavailable', code: 'unavailable' }]);
  });

  it('stops the further tries of a call that is under way, which keeps its own failure', async () => {
    const { circuits, goDown } = world();
    const tries: string[] = [];
    const own = failed('stall');
    const call = circuits.call('main', s2, async (tryOnce) => {
      const attempt = async () => {
        tries.push('try');
        throw own;
      };
      await tryOnce(attempt).catch(() => {});
      await goDown();
      return tryOnce(attempt);
    });
    await expect(call).rejects.toBe(own);
    expect(tries).toHaveLength(1);
  });

  it('lets one session probe at a time; the next pause is twice as long', async () => {
    const { goDown, admits, clock, call, circuits } = world();
    await goDown();
    clock.now = 1_000;
    expect(admits(s2)).toBe('go');
    expect(admits(s3)).not.toBe('go');
    expect(await call(s3)).toBe('not called');
    expect(await call(s2, failed('connect'))).toBe('failed');
    expect(admits(s3)).toEqual([2_000]);
    clock.now = 3_000;
    expect(admits(s3)).toBe('go');
    // It turned out to have nothing to do.
    circuits.releaseProbe(s3);
    expect(admits(s2)).toBe('go');
  });

  it('gives the probe to another session if the first one does not call in time', async () => {
    const { goDown, admits, clock } = world();
    await goDown();
    clock.now = 1_000;
    expect(admits(s2)).toBe('go');
    clock.now = 10_999;
    expect(admits(s3)).toEqual([1]);
    clock.now = 11_000;
    expect(admits(s3)).toBe('go');
  });

  it('does not stop an agent that has another model', async () => {
    const { goDown, admits, circuits } = world();
    await goDown();
    expect(admits(s2, null, ['main', 'backup'])).toBe('go');
    expect(circuits.admit(s2, ['main'], null)).toMatchObject([
      { model: 'main', code: 'unavailable', called: false },
    ]);
  });
});

describe('a model that says when to come back', () => {
  it('is called by nobody before that, not even after a call that was in flight works', async () => {
    const { call, admits, clock, recoveries } = world();
    let answer: (text: string) => void = () => {};
    const inFlight = call(
      s1,
      new Promise<string>((resolve) => {
        answer = resolve;
      }),
    );
    await call(s2, failed('unavailable', 15_000));
    answer('late');
    expect(await inFlight).toBe('late');
    expect(recoveries).toEqual([]);
    clock.now = 14_999;
    expect(admits(s3)).toEqual([1]);
    clock.now = 15_000;
    expect(admits(s2)).toBe('go');
  });

  it('is asked again after a quarter of an hour, if it said "in a year"', async () => {
    const { call, admits, clock } = world();
    await call(s1, failed('unavailable', 31_536_000_000));
    clock.now = 900_000;
    expect(admits(s2)).toBe('go');
  });
});

describe('a model that the operator has to mend', () => {
  it.each(['unauthorized', 'unknown_model'] as const)('is down at once (%s), by name', async (code) => {
    const { call, admits, circuits } = world();
    await call(s1, failed(code));
    expect(admits(s2)).toEqual([1_000]);
    expect(circuits.down).toMatchObject([{ model: 'main', reason: 'configuration', code }]);
  });

  it('is tried now and then, and is no longer down when it is mended', async () => {
    const { call, clock, circuits, admits } = world();
    await call(s1, failed('unauthorized'));
    clock.now = 1_000;
    await call(s1, failed('unauthorized'));
    clock.now = 3_000;
    expect(admits(s1)).toBe('go');
    expect(await call(s1)).toBe('answer');
    expect(circuits.down).toEqual([]);
  });
});

describe('a model that is back', () => {
  const back = async () => {
    const it = world();
    await it.goDown();
    it.clock.now = 1_000;
    it.admits(s1);
    await it.call(s1);
    const [recovery] = it.recoveries;
    if (recovery === undefined) throw new Error('not back');
    return { ...it, recovery };
  };

  it('first serves the sessions that waited for it: others are put off behind them', async () => {
    const { admits, circuits, recovery } = await back();
    expect(admits(s2)).toEqual([0]);
    circuits.letThrough(s2);
    expect([circuits.isLetThrough(s2), admits(s2), admits(s3)]).toEqual([true, 'go', [0]]);
    circuits.passed(s2);
    expect([circuits.isLetThrough(s2), admits(s2)]).toEqual([false, [0]]);
    circuits.endRecovery(recovery);
    expect([admits(s2), admits(s3)]).toEqual(['go', 'go']);
  });

  it('counts its answers', async () => {
    const { call, recovery } = await back();
    const before = recovery.answers;
    await call(s2);
    expect(recovery.answers).toBe(before + 1);
  });

  it('is not served from any more when it is down again', async () => {
    const { goDown, recovery, admits } = await back();
    await goDown();
    expect(recovery.active).toBe(false);
    expect(admits(s2)).toEqual([1_000]);
  });
});

describe('a new config', () => {
  it('that changes a model which is down makes it count as unknown: those that wait go on, and others behind them', async () => {
    const { goDown, circuits, recoveries, admits, call } = world();
    await goDown();
    circuits.take(schedules, { mended: ['main'], left: [] });
    expect(circuits.down).toEqual([]);
    expect(recoveries).toMatchObject([{ model: 'main', active: true }]);
    circuits.letThrough(s1);
    expect([admits(s1), admits(s2)]).toEqual(['go', [0]]);
    expect(await call(s1)).toBe('answer');
  });

  it('that names another model for an agent lets its sessions look, and keeps what was seen of the model', async () => {
    const { goDown, circuits, recoveries, admits } = world();
    await goDown();
    circuits.take(schedules, { mended: [], left: ['main'] });
    expect(recoveries).toMatchObject([{ model: 'main', active: true }]);
    circuits.letThrough(s1);
    expect([admits(s1), admits(s1, null, ['main', 'backup'])]).toEqual([[1_000], 'go']);
  });

  it('that comes while those that wait go on begins anew, once', async () => {
    const { circuits, recoveries } = world();
    circuits.take(schedules, { mended: ['main'], left: ['main'] });
    circuits.take(schedules, { mended: ['main'], left: [] });
    expect(recoveries.map(({ active }) => active)).toEqual([false, true]);
  });

  it('that changes the schedules changes the pauses', async () => {
    const { goDown, circuits, admits } = world();
    circuits.take([[0.5, 10]], { mended: [], left: [] });
    await goDown();
    expect(admits(s2)).toEqual([500]);
  });
});

describe('after a restart', () => {
  it('the first session that waited for a model is the probe, and the others wait for its verdict', async () => {
    const { admits, call, recoveries } = world();
    expect(admits(s1, putOff('main'))).toBe('go');
    expect(admits(s2, putOff('main'))).not.toBe('go');
    expect(admits(s3)).not.toBe('go');
    await call(s1);
    expect(recoveries).toHaveLength(1);
  });

  it('a model that has answered this process is not suspected because one session waited for it', async () => {
    const { admits, call } = world();
    await call(s1);
    expect([admits(s2, putOff('main')), admits(s3)]).toEqual(['go', 'go']);
  });
});
