import { SCHEMA_VERSION } from '@angelia/contracts';
import { float8Array, int4Array, jsonbArray, textArray, uuidArray } from '../connection/binary-array.ts';
import type { ConnectionPool, Statement } from '../connection/connection-pool.ts';
import type { PreparedAppend } from './prepare.ts';
import type { AppendRequest, AppendResult } from './request.ts';

const APPEND: Statement = {
  name: 'append',
  text: `SELECT appended_at, refused FROM angelia.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
           $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27)`,
};

const APPEND_ONE: Statement = {
  name: 'append_one',
  text: 'SELECT angelia.append_one($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)',
};

/**
 * Sends all of them in one transaction, and nearly always in one round trip. The results are in the same order. A second
 * round trip is needed for a single append that meets a conflict, a known key or a lease.
 */
export async function sendAppends(
  pool: ConnectionPool,
  holder: string,
  batch: readonly PreparedAppend[],
): Promise<AppendResult[]> {
  const [first] = batch;
  if (first !== undefined && batch.length === 1 && isSimple(first.request)) {
    const appendedAt = (await pool.query(APPEND_ONE, oneToArrays(first, holder)))[0]?.[0];
    if (typeof appendedAt === 'number') return [appended(first.request, Math.round(appendedAt))];
  }
  const rows = await pool.query(APPEND, toArrays(batch, holder));
  const [appendedAt, refused] = rows[0] as [number, Refused[] | null];
  const recordedAt = Math.round(appendedAt);
  const results: AppendResult[] = batch.map(({ request }) => appended(request, recordedAt));
  for (const one of refused ?? []) {
    const prepared = batch[one.append - 1];
    if (prepared) results[one.append - 1] = toResult(one, prepared.request);
  }
  return results;
}

/** What `angelia.append_one` can do. */
function isSimple({ streams, key, lease, rateLimit }: AppendRequest): boolean {
  if (streams.length !== 1 || rateLimit !== undefined) return false;
  if (lease === undefined) return true;
  return key === undefined && !('pool' in lease && lease.pool !== undefined);
}

function oneToArrays({ request, data, meta }: PreparedAppend, holder: string): unknown[] {
  const { key, lease } = request;
  const { streamId, expectedVersion, events } = request.streams[0] as AppendRequest['streams'][number];
  return [
    streamId,
    expectedVersion,
    key?.key ?? null,
    key?.keepSeconds ?? null,
    lease?.resource ?? null,
    lease === undefined ? null : (lease.holder ?? holder),
    lease !== undefined && 'seconds' in lease ? lease.seconds : null,
    textArray(events.map(({ type }) => type)),
    uuidArray(events.map(({ eventId }) => eventId)),
    jsonbArray(data),
    jsonbArray(meta),
    SCHEMA_VERSION,
  ];
}

function toArrays(batch: readonly PreparedAppend[], holder: string): unknown[] {
  const k = { append: [] as number[], key: [] as string[], keep: [] as number[], stream: [] as string[] };
  const kVersions = { first: [] as number[], last: [] as number[] };
  const l = {
    append: [] as number[],
    resource: [] as string[],
    holder: [] as string[],
    seconds: [] as (number | null)[],
    pool: [] as (string | null)[],
    capacity: [] as (number | null)[],
  };
  const r = { append: [] as number[], resource: [] as string[], perMinute: [] as number[] };
  const s = {
    append: [] as number[],
    stream: [] as string[],
    expected: [] as number[],
    firstId: [] as (string | null)[],
  };
  const e = {
    append: [] as number[],
    stream: [] as string[],
    version: [] as number[],
    type: [] as string[],
    id: [] as string[],
  };
  const data: string[] = [];
  const meta: string[] = [];
  let append = 0;
  for (const prepared of batch) {
    append += 1;
    const { key, lease, rateLimit, streams } = prepared.request;
    const first = streams[0];
    if (key && first) {
      k.append.push(append);
      k.key.push(key.key);
      k.keep.push(key.keepSeconds);
      k.stream.push(first.streamId);
      kVersions.first.push(first.expectedVersion + 1);
      kVersions.last.push(first.expectedVersion + first.events.length);
    }
    if (lease) {
      l.append.push(append);
      l.resource.push(lease.resource);
      l.holder.push(lease.holder ?? holder);
      l.seconds.push('seconds' in lease ? lease.seconds : null);
      const pool = 'seconds' in lease ? lease.pool : undefined;
      l.pool.push(pool?.name ?? null);
      l.capacity.push(pool?.capacity ?? null);
    }
    if (rateLimit) {
      r.append.push(append);
      r.resource.push(rateLimit.resource);
      r.perMinute.push(rateLimit.perMinute);
    }
    for (const stream of streams) {
      s.append.push(append);
      s.stream.push(stream.streamId);
      s.expected.push(stream.expectedVersion);
      s.firstId.push(stream.events[0]?.eventId ?? null);
      let version = stream.expectedVersion;
      for (const event of stream.events) {
        version += 1;
        e.append.push(append);
        e.stream.push(stream.streamId);
        e.version.push(version);
        e.type.push(event.type);
        e.id.push(event.eventId);
      }
    }
    for (const text of prepared.data) data.push(text);
    for (const text of prepared.meta) meta.push(text);
  }
  return [
    int4Array(k.append),
    textArray(k.key),
    float8Array(k.keep),
    textArray(k.stream),
    int4Array(kVersions.first),
    int4Array(kVersions.last),
    int4Array(l.append),
    textArray(l.resource),
    textArray(l.holder),
    float8Array(l.seconds),
    textArray(l.pool),
    int4Array(l.capacity),
    int4Array(r.append),
    textArray(r.resource),
    int4Array(r.perMinute),
    int4Array(s.append),
    textArray(s.stream),
    int4Array(s.expected),
    uuidArray(s.firstId),
    int4Array(e.append),
    textArray(e.stream),
    int4Array(e.version),
    textArray(e.type),
    uuidArray(e.id),
    jsonbArray(data),
    jsonbArray(meta),
    SCHEMA_VERSION,
  ];
}

type Refused = { readonly append: number } & (
  | { readonly verdict: 'appended'; readonly at: number }
  | { readonly verdict: 'duplicate'; readonly stream: string; readonly first: number; readonly last: number }
  | { readonly verdict: 'conflict'; readonly heads: [string, number][] }
  | { readonly verdict: 'leased'; readonly holder: string; readonly until: number }
  | { readonly verdict: 'full' }
  | { readonly verdict: 'limited'; readonly wait: number }
);

function toResult(one: Refused, request: AppendRequest): AppendResult {
  switch (one.verdict) {
    case 'appended':
      return appended(request, Math.round(one.at));
    case 'duplicate':
      return { status: 'duplicate', streamId: one.stream, firstVersion: one.first, lastVersion: one.last };
    case 'conflict':
      return { status: 'conflict', streams: one.heads.map(([streamId, version]) => ({ streamId, version })) };
    case 'leased':
      return { status: 'leased', holder: one.holder, expiresAt: Math.round(one.until) };
    case 'full':
      return { status: 'full' };
    case 'limited':
      return { status: 'limited', retryAfterSeconds: one.wait };
  }
}

function appended(request: AppendRequest, recordedAt: number): AppendResult {
  return {
    status: 'appended',
    streams: request.streams.map(({ streamId, expectedVersion, events }) => ({
      streamId,
      version: expectedVersion + events.length,
    })),
    recordedAt,
  };
}
