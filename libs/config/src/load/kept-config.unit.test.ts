import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { keepText, keptPath, keptText } from './kept-config.ts';

let data: string;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'angelia-kept-'));
});
afterEach(() => rmSync(data, { recursive: true }));

const file = { path: '/somewhere/angelia.yaml', demo: false };
const env = () => ({ ANGELIA_DATA: data });

describe('the last good copy of a config', () => {
  it('is what was kept, and only its owner can read it', () => {
    keepText('ingress', file, 'a: 1\n', env());
    keepText('ingress', file, 'a: 2\n', env());
    expect(keptText('ingress', file, env())).toBe('a: 2\n');
    const path = keptPath('ingress', env());
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
    expect(readdirSync(dirname(path))).toEqual(['ingress.yaml']);
  });

  it('belongs to one service and to one file', () => {
    keepText('ingress', file, 'a: 1\n', env());
    expect(keptText('delivery', file, env())).toBeNull();
    expect(keptText('ingress', { path: '/elsewhere/angelia.yaml', demo: false }, env())).toBeNull();
  });

  it('says in the file what it is a copy of', () => {
    keepText('ingress', file, 'a: 1\n', env());
    expect(readFileSync(keptPath('ingress', env()), 'utf8')).toMatch(
      /^# The last good copy of "\/somewhere\/angelia\.yaml".*\na: 1\n$/,
    );
  });

  it('is not replaced where nothing can be written, and leaves nothing behind', () => {
    const blocked = { ANGELIA_DATA: join(data, 'a-file') };
    writeFileSync(join(data, 'a-file'), '');
    expect(() => keepText('ingress', file, 'a: 1\n', blocked)).toThrow();
    expect(keptText('ingress', file, blocked)).toBeNull();
  });
});
