import type { IncomingMessage } from 'node:http';
import { Refusal } from '../../http/refusal.ts';
import type { BodyBudget, HeldBody } from './body-budget.ts';

/**
 * Each part costs a call and a buffer, however small it is: a megabyte in parts of one byte, as chunked encoding allows,
 * kept this process busy for minutes. A body of the largest size in parts of 100 bytes is still taken.
 */
export const MOST_PARTS = 10_000;
/** Parts that are smaller are gathered in blocks of this size: each buffer of its own would hold some 150 bytes more. */
const BLOCK_BYTES = 8192;

type Done = (error: Error | null, body?: Buffer) => void;

/**
 * Reads the body of somebody who has proved nothing yet. A body that arrives in one part, as a webhook does, is
 * handed on as it is and costs the budget nothing; of others the budget counts what is held for them.
 *
 * @param done gets the bytes, or a Refusal 400, 408, 413 or 503, or what the connection died of
 */
export function readBody(
  budget: BodyBudget,
  request: IncomingMessage,
  peer: () => string,
  limit: number,
  done: Done,
): void {
  const announced = Number(request.headers['content-length'] ?? Number.NaN);
  if (announced > limit) {
    done(tooLarge());
    return;
  }
  let gathered: Buffer[] = [];
  /** Free space of the last block in `gathered`, where that is one. */
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
    held ??= { peer: peer(), received: 0, cut: end };
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
    // What still comes after a refusal flows away until the connection is closed.
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
    'the body is larger than `limits.max_body_bytes` of the config allows',
  );
}

function tooManyParts(): Refusal {
  return new Refusal(
    400,
    'too_many_parts',
    `the body comes in more than ${MOST_PARTS} parts: send it in larger ones, or with a content-length`,
  );
}
