import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { configFileOf, withEnvFile } from './env-file.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'angelia-launcher-env-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

describe('.env for the launcher', () => {
  it('is the one beside the config file, and never overrides the environment', () => {
    mkdirSync(join(cwd, 'etc'));
    writeFileSync(join(cwd, 'angelia.yaml'), '{}');
    writeFileSync(join(cwd, '.env'), 'ANGELIA_PORT=9000\nANGELIA_HOST=0.0.0.0\n');
    writeFileSync(join(cwd, 'etc/.env'), 'ANGELIA_PORT=9001\n');
    expect(withEnvFile({ ANGELIA_HOST: '127.0.0.1', ANGELIA_PORT: '' }, cwd)).toEqual({
      ANGELIA_HOST: '127.0.0.1',
      ANGELIA_PORT: '9000',
    });
    const elsewhere = { ANGELIA_CONFIG: 'etc/angelia.yaml' };
    expect(withEnvFile(elsewhere, cwd)).toEqual({ ...elsewhere, ANGELIA_PORT: '9001' });
  });

  it('is not read without a config file: the demo has none', () => {
    writeFileSync(join(cwd, '.env'), 'ANGELIA_PORT=9000\n');
    expect(configFileOf({}, cwd)).toBeNull();
    expect(withEnvFile({}, cwd)).toEqual({});
  });
});
