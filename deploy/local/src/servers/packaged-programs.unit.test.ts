import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findNatsServer } from './packaged-programs.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'angelia-nats-'));
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

const nothing = () => {};

describe('nats-server', () => {
  it('is the executable one in PATH', async () => {
    writeFileSync(join(dir, 'nats-server'), '', { mode: 0o755 });
    expect(await findNatsServer(nothing, { path: `/nowhere:${dir}`, cache: '/nowhere', tools: [] })).toBe(
      join(dir, 'nats-server'),
    );
  });

  it('is the copy that an earlier start fetched', async () => {
    writeFileSync(join(dir, 'nats-server'), '', { mode: 0o755 });
    expect(await findNatsServer(nothing, { path: '', cache: dir, tools: [] })).toBe(join(dir, 'nats-server'));
  });

  it('that is not available causes an error that says how to get it', async () => {
    writeFileSync(join(dir, 'nats-server'), '', { mode: 0o644 }); // not executable
    await expect(findNatsServer(nothing, { path: dir, cache: '/nowhere', tools: [] })).rejects.toMatchObject({
      code: 'NATS_MISSING',
      message: expect.stringContaining('apt install nats-server'),
    });
  });
});
