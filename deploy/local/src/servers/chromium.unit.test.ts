import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findChromium } from './chromium.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'angelia-chromium-'));
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

const program = (name: string, mode = 0o755) => {
  writeFileSync(join(dir, name), '', { mode });
  return join(dir, name);
};
const ours = { executable: '/ours', env: { LD_LIBRARY_PATH: '/lib' } };
const refused = () => Promise.reject(new Error('no network'));

describe('the browser of the tests', () => {
  it('is CHROME_BIN, which must be a program', async () => {
    const options = { path: '', platform: 'linux-x64', fetch: async () => ours };
    const chromeBin = program('my-chrome');
    expect(await findChromium(() => {}, { ...options, chromeBin })).toEqual({
      executable: chromeBin,
      env: {},
    });
    await expect(
      findChromium(() => {}, { ...options, chromeBin: program('notes', 0o644) }),
    ).rejects.toMatchObject({ code: 'BROWSER_MISSING', message: expect.stringContaining('CHROME_BIN') });
  });

  it('is our own where there is one, also if another is installed', async () => {
    program('chromium');
    const options = { chromeBin: undefined, path: dir, platform: 'linux-x64', fetch: async () => ours };
    expect(await findChromium(() => {}, options)).toBe(ours);
  });

  it('is the installed one where we have none, or cannot fetch it, and then it says why', async () => {
    const executable = program('google-chrome');
    const said: string[] = [];
    const say = (line: string) => void said.push(line);
    const options = { chromeBin: undefined, path: `/nowhere:${dir}`, fetch: refused };
    expect(await findChromium(say, { ...options, platform: 'darwin-arm64' })).toEqual({
      executable,
      env: {},
    });
    expect(said).toEqual([]);
    expect(await findChromium(say, { ...options, platform: 'linux-x64' })).toEqual({ executable, env: {} });
    expect(said).toEqual([`using ${executable}, because: no network`]);
  });

  it('that is not available causes an error that says in one line what to do', async () => {
    const options = { chromeBin: undefined, path: dir, fetch: refused };
    for (const platform of ['linux-x64', 'linux-arm64', 'darwin-arm64']) {
      const error = await findChromium(() => {}, { ...options, platform }).catch((thrown: Error) => thrown);
      expect(error).toMatchObject({ code: 'BROWSER_MISSING' });
      expect((error as Error).message).toMatch(/^[^\n]*apt install chromium[^\n]*CHROME_BIN[^\n]*$/);
    }
  });
});
