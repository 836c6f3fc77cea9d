// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is the syntax under test
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { commandVariables, withCommandEnvFile } from './command-config.ts';
import { withEnvFile } from './env-file.ts';
import { keepText } from './kept-config.ts';

let directory: string;
let config: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'angelia-env-'));
  config = join(directory, 'angelia.yaml');
  writeFileSync(config, '{}');
});
afterEach(() => rmSync(directory, { recursive: true }));

const envFile = (text: string) => writeFileSync(join(directory, '.env'), text);

describe('.env beside the config file', () => {
  it('adds what the environment does not set, and never overrides it', () => {
    envFile('# keys\nA=from-file\nB="with blanks # and a sign"\nexport C=three\nD=from-file\n');
    const env = withEnvFile({ ANGELIA_CONFIG: config, A: 'from-environment', D: '' });
    expect(env).toEqual({
      ANGELIA_CONFIG: config,
      A: 'from-environment',
      B: 'with blanks # and a sign',
      C: 'three',
      // An empty variable counts as unset, because compose files pass empty ones.
      D: 'from-file',
    });
  });

  it('need not exist, and may be a directory', () => {
    expect(withEnvFile({ ANGELIA_CONFIG: config, A: '1' })).toEqual({ ANGELIA_CONFIG: config, A: '1' });
    mkdirSync(join(directory, '.env'));
    expect(withEnvFile({ ANGELIA_CONFIG: config, A: '1' })).toEqual({ ANGELIA_CONFIG: config, A: '1' });
  });

  it('does not count for the built-in demo, which is no file of the user', () => {
    envFile('A=1');
    expect(withEnvFile({}, { path: config, demo: true })).toEqual({});
  });

  (process.getuid?.() === 0 ? it.skip : it)('that cannot be read is refused', () => {
    envFile('A=1');
    chmodSync(join(directory, '.env'), 0);
    expect(() => withEnvFile({ ANGELIA_CONFIG: config })).toThrow(/\.env: cannot be read/);
  });
});

describe('the environment of process-watcher', () => {
  const SECRETS = ['MODEL_KEY', 'ANGELIA_MASTER_KEY', 'ANGELIA_ADMIN_TOKEN', 'TARGET'];

  it('has what its part of the config names, and none of the other secrets', () => {
    writeFileSync(
      config,
      'models: { m: { provider: openai, model: x, api_key: "${MODEL_KEY}" } }\nprocess_watcher: { environment: { X: "${OURS}" } }',
    );
    envFile(['OURS=ours', 'ANGELIA_LOG_LEVEL=debug', ...SECRETS.map((name) => `${name}=secret`)].join('\n'));
    const env = withCommandEnvFile({ ANGELIA_CONFIG: config });
    expect(env).toEqual({ ANGELIA_CONFIG: config, OURS: 'ours', ANGELIA_LOG_LEVEL: 'debug' });
  });

  it('has what the last good copy names, which it may have to use, and nothing more for a broken file', () => {
    const env = { ANGELIA_CONFIG: config, ANGELIA_DATA: join(directory, 'data') };
    keepText(
      'process-watcher',
      { path: config, demo: false },
      'process_watcher: { environment: { X: "${OURS}" } }\ntargets: { http: { secret: "${TARGET}" } }',
      env,
    );
    writeFileSync(config, 'a: [');
    const mayHold = commandVariables(env);
    expect(['OURS', 'PATH', ...SECRETS].filter(mayHold)).toEqual(['OURS', 'PATH']);
  });
});
