import { describe, expect, it } from '@jest/globals';
import { RecreationWatch } from './recreation-watch.ts';

const OLD = '2026-01-01T00:00:00Z';
const NEW = '2026-01-02T00:00:00Z';
const LATER = Date.parse('2026-01-03T00:00:00Z');

function watched() {
  let calls = 0;
  const watch = new RecreationWatch(() => calls++);
  return { watch, calls: () => calls };
}

describe('the stream', () => {
  it('that did not change is not recreated', () => {
    const { watch, calls } = watched();
    watch.sawStream({ createdAt: OLD, created: false }, LATER);
    watch.sawStream({ createdAt: OLD, created: false }, LATER);
    watch.sawAck({ seq: 7, duplicate: false });
    watch.sawAck({ seq: 9, duplicate: false });
    expect(watch.takeRecreated()).toBe(false);
    expect(calls()).toBe(0);
  });

  it('with another creation time is recreated, and this is reported once', () => {
    const { watch, calls } = watched();
    watch.sawStream({ createdAt: OLD, created: false }, LATER);
    watch.sawStream({ createdAt: NEW, created: false }, LATER);
    expect(watch.takeRecreated()).toBe(true);
    expect(watch.takeRecreated()).toBe(false);
    expect(calls()).toBe(1);
  });

  it('is recreated when acks go backwards', () => {
    const { watch } = watched();
    watch.sawAck({ seq: 9, duplicate: false });
    watch.sawAck({ seq: 1, duplicate: false });
    expect(watch.takeRecreated()).toBe(true);
  });

  it("is the same when a duplicate's ack names the sequence of the first copy", () => {
    const { watch } = watched();
    watch.sawAck({ seq: 9, duplicate: false });
    watch.sawAck({ seq: 3, duplicate: true });
    watch.sawAck({ seq: 10, duplicate: false });
    expect(watch.takeRecreated()).toBe(false);
  });

  it('that another service has just created counts as recreated when it is first seen', () => {
    const { watch } = watched();
    watch.sawStream({ createdAt: NEW, created: false }, Date.parse(NEW) + 5_000);
    expect(watch.takeRecreated()).toBe(true);
  });
});
