import { randomUUID } from 'node:crypto';
import type { NewEvent } from '@angelia/contracts';
import type { AppendRequest } from '../append/request.ts';

export function someEvent(type = 'test.happened', data: unknown = {}): NewEvent {
  return { eventId: randomUUID(), type, data, meta: { actor: 'test' } };
}

/** One stream, one event or as many as are given. */
export function appendTo(
  streamId: string,
  expectedVersion: number,
  events: readonly NewEvent[] = [someEvent()],
): AppendRequest {
  return { streams: [{ streamId, expectedVersion, events }] };
}
