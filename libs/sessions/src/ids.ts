import { randomBytes, randomFillSync } from 'node:crypto';
import { type SessionId, sessionId } from '@angelia/contracts';

/**
 * uuid v7 (RFC 9562): 48 bits of milliseconds, 12 bits that count within the millisecond, 62 random bits. The ids of one
 * process ascend, so that new rows go to the right edge of the primary key's B-tree.
 */
const COUNTER_BITS = 12;
const COUNTER_LIMIT = 1 << COUNTER_BITS;
/** The counter starts in its lower half, so that the upper half is free for more ids of the same millisecond. */
const COUNTER_START_LIMIT = COUNTER_LIMIT / 2;

/** Random bytes are fetched for many ids at once: one call into the kernel per id would cost more than the rest of it. */
const POOL = Buffer.allocUnsafe(10 * 256);
let poolUsed = POOL.length;
let lastMs = 0;
let counter = 0;

/**
 * A clock that is set back by more than this was wrong before. Then ids follow it: lists find a session by the time in its
 * id, and ids that go on from the wrong time would be out of their range until the clock gets there.
 */
const CLOCK_WAS_WRONG_MS = 60_000;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
const hex = (byte: number): string => HEX[byte & 0xff] ?? '00';

export function uuidV7(now: number = Date.now()): string {
  if (poolUsed + 10 > POOL.length) {
    randomFillSync(POOL);
    poolUsed = 0;
  }
  const at = poolUsed;
  poolUsed += 10;
  if (now > lastMs || now < lastMs - CLOCK_WAS_WRONG_MS) {
    lastMs = now;
    counter = POOL.readUInt16BE(at) % COUNTER_START_LIMIT;
  } else {
    // The same millisecond, or a clock that was set back a little: count on from the last id.
    counter += 1;
    if (counter >= COUNTER_LIMIT) {
      lastMs += 1;
      counter = 0;
    }
  }
  const high = Math.floor(lastMs / 0x1_0000);
  const low = lastMs & 0xffff;
  return (
    `${hex(high >>> 24)}${hex(high >>> 16)}${hex(high >>> 8)}${hex(high)}-${hex(low >>> 8)}${hex(low)}` +
    `-${hex(0x70 | (counter >>> 8))}${hex(counter)}` +
    `-${hex(0x80 | ((POOL[at + 2] ?? 0) & 0x3f))}${hex(POOL[at + 3] ?? 0)}-` +
    `${hex(POOL[at + 4] ?? 0)}${hex(POOL[at + 5] ?? 0)}${hex(POOL[at + 6] ?? 0)}${hex(POOL[at + 7] ?? 0)}` +
    `${hex(POOL[at + 8] ?? 0)}${hex(POOL[at + 9] ?? 0)}`
  );
}

export function newEventId(): string {
  return uuidV7();
}

export function newSessionId(): SessionId {
  return sessionId(uuidV7());
}

/** The seed of the marks around foreign text in a session's prompts: 128 bits, which nobody guesses. */
export function newFenceSeed(): string {
  return randomBytes(16).toString('hex');
}
