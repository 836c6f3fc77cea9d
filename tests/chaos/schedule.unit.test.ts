import { describe, expect, it } from '@jest/globals';
import { inWords, type SchedulePlan, scheduleOf } from './schedule.ts';

const plan: SchedulePlan = {
  seed: 7,
  lastsMs: 15 * 60_000,
  instances: ['ingress', 'agent-runner', 'agent-runner-2', 'delivery', 'process-watcher'],
  everyMs: { least: 2_000, most: 7_000 },
  longestMs: 8_000,
};

describe('the schedule of faults', () => {
  it('is the same for the same seed, and different for another', () => {
    expect(scheduleOf(plan)).toEqual(scheduleOf({ ...plan }));
    expect(scheduleOf({ ...plan, seed: 8 })).not.toEqual(scheduleOf(plan));
  });

  it('has in 15 minutes every fault of every program and every connection, a kill of everything, and both losses of the bus', () => {
    const words = scheduleOf(plan).map(({ fault }) => inWords(fault).replace(/ for .*/, ''));
    for (const kind of ['kill', 'restart', 'freeze']) {
      for (const program of [...plan.instances, 'postgres', 'nats'])
        expect(words).toContain(`${kind} ${program}`);
    }
    for (const kind of ['cut', 'refuse', 'delay', 'silence']) {
      for (const whose of [...plan.instances, 'all']) {
        for (const server of ['postgres', 'nats']) expect(words).toContain(`${kind} ${whose} > ${server}`);
      }
    }
    expect(words).toEqual(expect.arrayContaining(['kill-everything', 'delete-stream', 'delete-store']));
  });
});
