import { type SessionId, sessionId } from '@angelia/contracts';
import { WakeUp } from '@angelia/waiting';
import { describe, expect, it } from '@jest/globals';
import type { Recovery } from './model-circuits.ts';
import { resumeWaiting } from './resume-waiting.ts';

function world(waiting: number) {
  const ids = Array.from({ length: waiting }, (_, n) => sessionId(`s${String(n).padStart(4, '0')}`));
  const recovery: Recovery = { model: 'main', left: false, active: true, answers: 0, changed: new WakeUp() };
  /** Those that were let through and wait for a slot. */
  const queued = new Set<SessionId>();
  const resumed: SessionId[] = [];
  const groups: number[] = [];
  const answer = (count = 1) => {
    recovery.answers += count;
    recovery.changed.wake();
  };
  const run = (over: { resume?: (id: SessionId) => Promise<boolean>; closed?: () => boolean } = {}) =>
    resumeWaiting(recovery, {
      waitingFor: async (model, after, limit) => {
        expect(model).toBe('main');
        groups.push(resumed.length);
        return ids.filter((id) => id > after).slice(0, limit);
      },
      resume:
        over.resume ??
        (async (id) => {
          resumed.push(id);
          answer();
          return true;
        }),
      isLetThrough: (id) => queued.has(id),
      closed: over.closed ?? (() => false),
    });
  return { ids, recovery, queued, resumed, groups, answer, run };
}

describe('the sessions that waited for a model', () => {
  it('go on all, once and in order, each group twice as large as the one before', async () => {
    const { ids, resumed, groups, run } = world(300);
    await run();
    expect(resumed).toEqual(ids);
    expect(groups).toEqual([0, 1, 3, 7, 15, 31, 63, 127, 191, 255]);
  });

  it('wait for the answers of the group before', async () => {
    const { recovery, run } = world(10);
    const started: SessionId[] = [];
    let allStarted: () => void = () => {};
    const three = new Promise<void>((resolve) => {
      allStarted = resolve;
    });
    const over = run({
      resume: async (id) => {
        started.push(id);
        if (started.length === 1) recovery.answers += 1;
        if (started.length === 3) allStarted();
        return true;
      },
    });
    await three;
    // The second group of two has no answer yet.
    await new Promise((resolve) => setImmediate(resolve));
    expect(started).toHaveLength(3);
    recovery.active = false;
    recovery.changed.wake();
    await over;
    expect(started).toHaveLength(3);
  });

  it('are not offered while those before them wait for a slot', async () => {
    const { recovery, queued, run } = world(3);
    const offered: SessionId[] = [];
    let first: () => void = () => {};
    const one = new Promise<void>((resolve) => {
      first = resolve;
    });
    const over = run({
      resume: async (id) => {
        offered.push(id);
        if (offered.length > 1) return false;
        queued.add(id);
        first();
        return false;
      },
    });
    await one;
    await new Promise((resolve) => setImmediate(resolve));
    expect(offered).toHaveLength(1);
    queued.clear();
    recovery.changed.wake();
    await over;
    expect(offered).toHaveLength(3);
  });

  it('do not go on when the model is down again, or the runner stops', async () => {
    const { recovery, run, answer } = world(10);
    const started: SessionId[] = [];
    const resume = async (id: SessionId) => {
      started.push(id);
      answer();
      if (started.length === 2) recovery.active = false;
      return true;
    };
    await run({ resume });
    expect(started).toHaveLength(2);
    recovery.active = true;
    await run({ resume, closed: () => true });
    expect(started).toHaveLength(2);
  });

  it('that need no run are not waited for', async () => {
    const { run } = world(10);
    let looked = 0;
    await run({
      resume: async () => {
        looked += 1;
        return false;
      },
    });
    expect(looked).toBe(10);
  });
});
