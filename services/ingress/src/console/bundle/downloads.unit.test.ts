import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { Downloads } from './downloads.ts';

class Response extends EventEmitter {
  destroyed = false;
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

const begin = (downloads: Downloads, response: Response) =>
  downloads.begin(response as unknown as ServerResponse);

describe('files on their way', () => {
  it('are limited, and one that ends makes room', () => {
    const downloads = new Downloads(2);
    const [first, second, third] = [new Response(), new Response(), new Response()];
    expect([begin(downloads, first), begin(downloads, second), begin(downloads, third)]).toEqual([
      true,
      true,
      false,
    ]);
    first.emit('close');
    expect(begin(downloads, third)).toBe(true);
    expect(downloads.size).toBe(2);
  });

  it('at the limit the oldest gives way to a new one, if it is slow', () => {
    const downloads = new Downloads(2, 0);
    const [first, second, third] = [new Response(), new Response(), new Response()];
    for (const response of [first, second, third]) expect(begin(downloads, response)).toBe(true);
    expect([first.destroyed, second.destroyed, third.destroyed]).toEqual([true, false, false]);
    expect(downloads.size).toBe(2);
  });
});
