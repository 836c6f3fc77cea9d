import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { createLogger } from '../logs/logger.ts';
import { Drain } from './drain.ts';
import { type ShutdownSteps, shutDown } from './shutdown.ts';

const logger = createLogger({
  service: 's',
  instance: 'i',
  level: 'silent',
  destination: { write: () => {} },
});

function recordingSteps(order: string[], over: Partial<ShutdownSteps> = {}): ShutdownSteps {
  const step = (name: string) => async () => {
    order.push(name);
  };
  return {
    stopBeingReady: () => order.push('unready'),
    stopIntake: step('intake'),
    closeApp: step('app'),
    resign: step('resign'),
    closeBus: step('bus'),
    closeLog: step('log'),
    flushTelemetry: step('telemetry'),
    closeAdmin: step('admin'),
    ...over,
  };
}

const patient = () => ({ drainSeconds: 30, hurry: new AbortController().signal, logger });

describe('shutdown', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('stops taking work, drains, then closes what the drain needed', async () => {
    const order: string[] = [];
    const drain = new Drain();
    drain.add({
      name: 'runs',
      drain: async () => {
        expect(drain.draining).toBe(true);
        await new Promise((resolve) => setImmediate(resolve));
        order.push('drained');
      },
    });
    expect(await shutDown(recordingSteps(order), drain, patient())).toEqual([]);
    expect(order).toEqual([
      'unready',
      'intake',
      'drained',
      'app',
      'resign',
      'bus',
      'log',
      'telemetry',
      'admin',
    ]);
  });

  it('runs all steps even if one fails, and names that one', async () => {
    const order: string[] = [];
    const failing = async () => {
      throw new Error('no');
    };
    expect(
      await shutDown(
        recordingSteps(order, { closeBus: failing, stopIntake: failing }),
        new Drain(),
        patient(),
      ),
    ).toEqual(['intake', 'bus']);
    expect(order.at(-1)).toBe('admin');
  });

  it('tells a participant its deadline', async () => {
    const drain = new Drain();
    let given = 0;
    drain.add({
      name: 'x',
      drain: async (deadline) => {
        given = deadline;
      },
    });
    jest.useFakeTimers();
    const before = Date.now();
    await shutDown(recordingSteps([]), drain, patient());
    expect(given - before).toBe(30_000);
  });

  it('closes everything even if a participant never ends', async () => {
    const order: string[] = [];
    const drain = new Drain();
    drain.add({ name: 'stuck', drain: () => new Promise(() => {}) });
    jest.useFakeTimers();
    const failures = shutDown(recordingSteps(order), drain, { ...patient(), drainSeconds: 10 });
    await jest.advanceTimersByTimeAsync(9_000);
    expect(order.at(-1)).toBe('intake');
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await failures).toEqual(['drain stuck']);
    expect(order.at(-1)).toBe('admin');
  });

  it('is cut short by a second signal: a participant is told and still hands its work over', async () => {
    const order: string[] = [];
    const drain = new Drain();
    const hurry = new AbortController();
    drain.add({
      name: 'runs',
      drain: async (_deadline, signal) => {
        await new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => resolve(), { once: true }),
        );
        order.push('handed over');
      },
    });
    const down = shutDown(recordingSteps(order), drain, { ...patient(), hurry: hurry.signal });
    setImmediate(() => hurry.abort());
    expect(await down).toEqual([]);
    expect(order).toContain('handed over');
  });
});
