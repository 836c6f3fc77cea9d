import { EventEmitter } from 'node:events';
import { type RecordedEvent, sessionId } from '@angelia/contracts';
import { Drain, type Logger } from '@angelia/service-kit';
import { decide, initialState } from '@angelia/session';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { HttpAdapterHost } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import { SessionStreams } from './session-streams.ts';

// Only what takes long in real time. stream.int.test.ts tests what is sent and when it ends.

const ID = sessionId('01a1e281-20d9-7563-b8f1-427765d52c50');

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** A socket that takes everything, or nothing any more. */
class Reader extends EventEmitter {
  text = '';
  takes = true;
  gone = false;
  writeHead() {
    return this;
  }
  write(text: string) {
    this.text += text;
    return this.takes;
  }
  end() {
    this.gone = true;
    this.emit('close');
  }
  destroy() {
    this.end();
  }
  get heartbeats() {
    return this.text.split('\n\n').filter((message) => message === ':').length;
  }
}

function world() {
  const decision = decide(initialState(), {
    type: 'create-session',
    route: 'hook',
    event: null,
    deliveryId: 'd-1',
    title: 'T',
    agent: 'default',
    deliver: { target: 'log', to: {}, untrusted_address: false },
    input: 'x',
  });
  if (!decision.ok) throw new Error(decision.reason);
  const events: RecordedEvent[] = decision.events.map((fact, index) => ({
    ...fact,
    position: index + 1,
    streamId: ID,
    version: index + 1,
    schemaVersion: 1,
    eventId: `e-${index}`,
    meta: { actor: 'test' },
    recordedAt: 0,
  }));
  let reads = 0;
  let listener: (() => void) | null = null;
  const streams = new SessionStreams(
    {
      streams: {
        read: async (_id: string, from = 1) => {
          reads += 1;
          return events.filter(({ version }) => version >= from);
        },
      },
    },
    {
      subscribe: (_subject: string, listen: () => void) => {
        listener = listen;
        return () => {
          listener = null;
        };
      },
    },
    new Drain(),
    { debug: () => {} } as unknown as Logger,
    {} as HttpAdapterHost,
  );
  return {
    streams,
    reads: () => reads,
    ping: () => listener?.(),
    listening: () => listener !== null,
    open: async () => {
      const reader = new Reader();
      const reply = { raw: reader, hijack: () => {}, request: { method: 'GET' } };
      await streams.answer(reply as unknown as FastifyReply, ID, null);
      return reader;
    },
  };
}

describe('an open stream', () => {
  it('sends a heartbeat every 15 s if it has no events', async () => {
    const { open } = world();
    const reader = await open();
    await jest.advanceTimersByTimeAsync(1_000);
    const before = reader.heartbeats;
    await jest.advanceTimersByTimeAsync(60_000);
    expect(reader.heartbeats - before).toBeGreaterThanOrEqual(3);
    expect(reader.heartbeats - before).toBeLessThanOrEqual(4);
  });

  it('sends nothing more to a client that does not read, and closes it after 30 s', async () => {
    const { open, streams } = world();
    const reader = await open();
    reader.takes = false;
    // The first heartbeat fills the buffer.
    await jest.advanceTimersByTimeAsync(2_000);
    const given = reader.text;
    await jest.advanceTimersByTimeAsync(26_000);
    expect(reader.gone).toBe(false);
    expect(reader.text).toBe(given);
    await jest.advanceTimersByTimeAsync(5_000);
    expect([reader.gone, streams.size]).toEqual([true, 0]);
  });

  it('is not closed if the client reads again', async () => {
    const { open } = world();
    const reader = await open();
    reader.takes = false;
    await jest.advanceTimersByTimeAsync(20_000);
    reader.takes = true;
    reader.emit('drain');
    await jest.advanceTimersByTimeAsync(60_000);
    expect(reader.gone).toBe(false);
  });
});

describe('reading the log', () => {
  it('happens once per 100 ms for all streams, however many commits there are', async () => {
    const { open, ping, reads } = world();
    await open();
    await jest.advanceTimersByTimeAsync(500);
    const before = reads();
    for (let commit = 0; commit < 1_000; commit += 1) {
      ping();
      await jest.advanceTimersByTimeAsync(1);
    }
    expect(reads() - before).toBeGreaterThanOrEqual(9);
    expect(reads() - before).toBeLessThanOrEqual(11);
  });

  it('continues when the clock of the host is set back or forward, and no client is closed', async () => {
    const { open, ping, reads } = world();
    const reader = await open();
    await jest.advanceTimersByTimeAsync(2_000);
    for (const stepMs of [-3_600_000, 7_200_000]) {
      jest.setSystemTime(Date.now() + stepMs);
      const before = reads();
      ping();
      await jest.advanceTimersByTimeAsync(200);
      expect(reads() - before).toBe(1);
      const heartbeats = reader.heartbeats;
      await jest.advanceTimersByTimeAsync(30_000);
      expect(reads() - before).toBeGreaterThanOrEqual(29);
      expect(reader.heartbeats - heartbeats).toBe(2);
    }
    reader.takes = false;
    await jest.advanceTimersByTimeAsync(16_000);
    jest.setSystemTime(Date.now() + 3_600_000);
    await jest.advanceTimersByTimeAsync(2_000);
    expect(reader.gone).toBe(false);
  });

  it('happens once a second without commits, and never when no stream is open', async () => {
    const { open, reads, listening } = world();
    expect(listening()).toBe(false);
    const reader = await open();
    expect(listening()).toBe(true);
    await jest.advanceTimersByTimeAsync(500);
    const before = reads();
    await jest.advanceTimersByTimeAsync(10_000);
    expect(reads() - before).toBe(10);
    reader.end();
    expect([listening(), jest.getTimerCount()]).toEqual([false, 0]);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(reads() - before).toBe(10);
  });
});
