import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { asText, outputEnd, readOutput, readTail, shownOutput } from '../commands/read-output.ts';
import { OutputFile } from './output-file.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'angelia-output-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('output on disk', () => {
  it('is read back completely while it is within the cap', () => {
    const file = new OutputFile(dir, 'output', 100);
    file.write(Buffer.from('hello '));
    file.write(Buffer.from('world'));
    expect(readOutput(dir, 'output', 0, 1_000)).toMatchObject({ from: 0, next: 11, kept: 0, end: 11 });
    expect(readOutput(dir, 'output', 6, 3).bytes.toString()).toBe('wor');
    expect(shownOutput(dir, 'output', 100)).toBe('hello world');
  });

  it('keeps between half the cap and the whole cap, by absolute position', () => {
    const file = new OutputFile(dir, 'output', 100);
    const all = Array.from({ length: 1_000 }, (_, n) => String(n % 10)).join('');
    for (let at = 0; at < all.length; at += 7) {
      file.write(Buffer.from(all.slice(at, at + 7)));
      const part = readOutput(dir, 'output', 0, 10_000);
      expect(part.end).toBe(Math.min(all.length, at + 7));
      expect(part.bytes.length).toBeGreaterThanOrEqual(Math.min(50, part.end));
      expect(part.bytes.length).toBeLessThanOrEqual(100);
      expect(part.bytes.toString()).toBe(all.slice(part.from, part.end));
    }
    expect(readdirSync(dir)).toHaveLength(2);
    expect(outputEnd(dir, 'output')).toBe(1_000);
    expect(readTail(dir, 'output', 5).bytes.toString()).toBe('56789');
    expect(shownOutput(dir, 'output', 20)).toMatch(/^\[\.\.\. 980 bytes left out \.\.\.\]\n\d{20}$/);
  });

  it('is empty if nothing was printed', () => {
    expect(readOutput(join(dir, 'absent'), 'output', 0, 10)).toMatchObject({ next: 0, end: 0 });
  });
});

describe('bytes as text', () => {
  it('leaves out a character that was cut through, and replaces bytes that are no character', () => {
    const euro = Buffer.from('a€b');
    expect(asText(euro.subarray(2), { start: true })).toBe('b');
    expect(asText(euro.subarray(0, 3), { end: true })).toBe('a');
    expect(asText(euro, { start: true, end: true })).toBe('a€b');
    expect(asText(Buffer.from([0x61, 0xff, 0x62]))).toBe('a\uFFFDb');
  });
});
