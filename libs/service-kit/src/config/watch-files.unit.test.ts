import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { watchFiles } from './watch-files.ts';

let directory: string;
let stop: AbortController;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'angelia-watch-'));
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  rmSync(directory, { recursive: true });
});

/** What the file held at each call. */
async function watched(path: string, settleMs = 20): Promise<string[]> {
  const seen: string[] = [];
  const read = () => {
    try {
      return readFileSync(path, 'utf8');
    } catch {
      return '(none)';
    }
  };
  void watchFiles([path], {
    signal: stop.signal,
    lookMs: 5,
    settleMs,
    onChange: async () => seen.push(read()),
  });
  await eventually(() => seen.length === 1);
  return seen;
}

describe('a watched file', () => {
  it('is reported at once, and again when it is written in place', async () => {
    const path = join(directory, 'angelia.yaml');
    writeFileSync(path, 'one');
    const seen = await watched(path);
    expect(seen).toEqual(['one']);
    // The same length, so that only the times differ.
    writeFileSync(path, 'two');
    await eventually(() => seen.at(-1) === 'two');
  });

  it('is reported when an editor renames another file over it', async () => {
    const path = join(directory, 'angelia.yaml');
    writeFileSync(path, 'one');
    const seen = await watched(path);
    writeFileSync(`${path}.swp`, 'two');
    renameSync(`${path}.swp`, path);
    await eventually(() => seen.at(-1) === 'two');
  });

  it('is reported when Kubernetes swaps the link to the mounted ConfigMap', async () => {
    const version = (name: string, text: string) => {
      mkdirSync(join(directory, name));
      writeFileSync(join(directory, name, 'angelia.yaml'), text);
    };
    version('..2026_1', 'one');
    symlinkSync('..2026_1', join(directory, '..data'));
    symlinkSync('..data/angelia.yaml', join(directory, 'angelia.yaml'));
    const seen = await watched(join(directory, 'angelia.yaml'));
    version('..2026_2', 'two');
    symlinkSync('..2026_2', join(directory, '..data_tmp'));
    renameSync(join(directory, '..data_tmp'), join(directory, '..data'));
    await eventually(() => seen.at(-1) === 'two');
    expect(seen).toEqual(['one', 'two']);
  });

  it('is reported when it is removed, and when it comes back', async () => {
    const path = join(directory, 'angelia.yaml');
    writeFileSync(path, 'one');
    const seen = await watched(path);
    rmSync(path);
    await eventually(() => seen.at(-1) === '(none)');
    writeFileSync(path, 'two');
    await eventually(() => seen.at(-1) === 'two');
  });

  it('is not reported while it is still being written', async () => {
    const path = join(directory, 'angelia.yaml');
    writeFileSync(path, 'one');
    const seen = await watched(path, 2_000);
    // Each part comes long before the file counts as complete.
    const parts = ['a: 1\n', 'b: 2\n', 'c: 3\n', 'd: 4\n'];
    writeFileSync(path, '');
    for (const part of parts) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      appendFileSync(path, part);
    }
    await eventually(() => seen.length > 1);
    expect(seen).toEqual(['one', parts.join('')]);
  });
});
