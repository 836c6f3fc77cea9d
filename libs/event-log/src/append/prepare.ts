import { UnstorableEvent } from '../errors.ts';
import type { AppendRequest, TakeLease } from './request.ts';
import { toStorableJson } from './storable.ts';

/** An append that was checked and made JSON when it was handed in, so that its own caller gets the error. */
export interface PreparedAppend {
  readonly request: AppendRequest;
  readonly data: readonly string[];
  readonly meta: readonly string[];
  readonly events: number;
  readonly bytes: number;
}

/** What one statement may carry. A larger append could never be sent. */
const MAX_APPEND_BYTES = 32 * 1024 * 1024;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function prepareAppend(request: AppendRequest): PreparedAppend {
  const data: string[] = [];
  const meta: string[] = [];
  let bytes = 0;
  if (request.streams.length === 0) throw new UnstorableEvent('an append needs at least one stream');
  const seen = new Set<string>();
  for (const stream of request.streams) {
    if (seen.has(stream.streamId))
      throw new UnstorableEvent(`the stream ${stream.streamId} occurs twice in one append`);
    seen.add(stream.streamId);
    checkText(stream.streamId, 'a stream id');
    if (!Number.isInteger(stream.expectedVersion) || stream.expectedVersion < 0) {
      throw new UnstorableEvent(
        `the expected version of ${stream.streamId} is not a version: ${stream.expectedVersion}`,
      );
    }
    // Events of one append mostly share their meta: it is made JSON once.
    let sharedMeta: unknown;
    let metaJson = '';
    for (const event of stream.events) {
      if (!UUID.test(event.eventId))
        throw new UnstorableEvent(`the event id of ${event.type} is not a uuid: ${event.eventId}`);
      checkText(event.type, 'an event type');
      const eventData = toStorableJson(event.data, `data of ${event.type}`);
      if (event.meta !== sharedMeta) {
        metaJson = toStorableJson(event.meta, `meta of ${event.type}`);
        sharedMeta = event.meta;
      }
      data.push(eventData);
      meta.push(metaJson);
      bytes += eventData.length + metaJson.length + 100;
    }
  }
  if (request.key) {
    checkText(request.key.key, 'an idempotency key');
    checkSeconds(request.key.keepSeconds, 'keepSeconds of an idempotency key');
  }
  if (request.lease) {
    checkText(request.lease.resource, 'the resource of a lease');
    if ('seconds' in request.lease) {
      checkSeconds(request.lease.seconds, 'seconds of a lease');
      if (request.lease.pool) checkPool(request.lease.pool);
    }
  }
  if (request.rateLimit) {
    checkText(request.rateLimit.resource, 'the resource of a rate limit');
    if (!Number.isInteger(request.rateLimit.perMinute) || request.rateLimit.perMinute <= 0) {
      throw new UnstorableEvent(
        `perMinute of a rate limit is not a number of appends: ${request.rateLimit.perMinute}`,
      );
    }
  }
  if (bytes > MAX_APPEND_BYTES)
    throw new UnstorableEvent(`an append of ${bytes} characters is larger than ${MAX_APPEND_BYTES}`);
  return { request, data, meta, events: data.length, bytes };
}

/** These texts are in indexes, whose rows hold at most 2,700 bytes. */
const MAX_TEXT_BYTES = 1_000;

function checkText(text: string, what: string): void {
  if (
    text === '' ||
    text.includes('\u0000') ||
    !text.isWellFormed() ||
    Buffer.byteLength(text) > MAX_TEXT_BYTES
  ) {
    const shown = JSON.stringify(text.slice(0, 100));
    throw new UnstorableEvent(
      `${what} is empty, longer than ${MAX_TEXT_BYTES} bytes, or holds U+0000 or half a surrogate pair: ${shown}`,
    );
  }
}

function checkSeconds(seconds: number, what: string): void {
  if (!Number.isFinite(seconds) || seconds <= 0)
    throw new UnstorableEvent(`${what} is not a time: ${seconds}`);
}

function checkPool({ name, capacity }: NonNullable<TakeLease['pool']>): void {
  checkText(name, 'the name of a pool');
  if (!Number.isInteger(capacity) || capacity <= 0) {
    throw new UnstorableEvent(`the capacity of a pool is not a number of leases: ${capacity}`);
  }
}
