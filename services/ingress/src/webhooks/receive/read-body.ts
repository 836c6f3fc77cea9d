import type { IncomingMessage } from 'node:http';
import { Refusal } from '../../http/refusal.ts';
import type { BodyBudget, HeldBody } from './body-budget.ts';

/**
 * Each part costs a call and a buffer, however small it is. A megabyte in parts of one byte, which chunked encoding
 * allows, kept this process busy for minutes. A body of the largest size in parts of 100 bytes is still taken.
 */
export const MOST_PARTS = 10_000;
/** Smaller parts are gathered in blocks of this size, because each separate buffer costs about 150 bytes more. */
const BLOCK_BYTES = 8192;

type Done = (error: Error | null, body?: Buffer) => void;

interface BodyReadOptions {
  readonly budget: BodyBudget;
  /** The network of the sender, which shares one part of the budget. */
  readonly network: () => string;
  /** In bytes. */
  readonly limit: number;
}

/**
 * Reads the body of a sender that is not authenticated yet. A body that arrives in one part, as most webhooks do, is
 * passed on without a copy and costs the budget nothing. For others the budget counts what is held.
 *
 * @param done gets the bytes, or a Refusal 400, 408, 413 or 503, or the error of the connection
 */
export function readBody(
  request: IncomingMessage,
  { budget, network, limit }: BodyReadOptions,
  done: Done,
): void {
  const announced = Number(request.headers['content-length'] ?? Number.NaN);
  if (announced > limit) {
    done(tooLarge());
    return;
  }
  let gathered: Buffer[] = [];
  /** Free space in the last buffer of `gathered`, if that is a block. */
  let space = 0;
  let received = 0;
  let parts = 0;
  let held: HeldBody | null = null;
  let over = false;

  const end = (error: Error | null, body?: Buffer): void => {
    if (over) return;
    over = true;
    if (held !== null) budget.release(held);
    gathered = [];
    done(error, body);
  };

  const gather = (part: Buffer): void => {
    held ??= { network: network(), received: 0, cut: end };
    held.received = received;
    if (part.length <= space) {
      const block = gathered.at(-1) as Buffer;
      part.copy(block, block.length - space);
      space -= part.length;
      return;
    }
    closeBlock();
    const isSmall = part.length < BLOCK_BYTES;
    budget.hold(held, isSmall ? BLOCK_BYTES : part.length);
    if (!isSmall) {
      gathered.push(part);
      return;
    }
    const block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    part.copy(block);
    space = BLOCK_BYTES - part.length;
    gathered.push(block);
  };

  const closeBlock = (): void => {
    if (space === 0) return;
    const block = gathered.pop() as Buffer;
    gathered.push(block.subarray(0, block.length - space));
    space = 0;
  };

  request.on('data', (part: Buffer) => {
    // After a refusal the rest is dropped until the connection closes.
    if (over) return;
    parts += 1;
    received += part.length;
    if (received > limit) end(tooLarge());
    else if (parts > MOST_PARTS) end(tooManyParts());
    else if (parts === 1 && received === announced) gathered.push(part);
    else gather(part);
  });
  request.on('end', () => {
    if (over) return;
    closeBlock();
    const [whole, ...more] = gathered;
    end(null, whole !== undefined && more.length === 0 ? whole : Buffer.concat(gathered, received));
  });
  request.on('error', (error: Error) => end(Object.assign(error, { statusCode: 400 })));
}

function tooLarge(): Refusal {
  return new Refusal(
    413,
    'body_too_large',
    'the body is larger than `limits.max_body_bytes` of the config allows: send a smaller one',
  );
}

function tooManyParts(): Refusal {
  return new Refusal(
    400,
    'too_many_parts',
    `the body comes in more than ${MOST_PARTS} parts: send larger parts, or a content-length`,
  );
}
