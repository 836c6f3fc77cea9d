import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runRecorded } from '../testing/run-recorded.ts';

const TOKEN = '123456:a-token-of-the-bot';
let cwd: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'angelia-hermes-'));
  mkdirSync(join(cwd, 'hermes'));
  writeFileSync(
    join(cwd, 'hermes', 'config.yaml'),
    'platforms:\n  webhook:\n    enabled: true\n    extra:\n      routes:\n        alerts: { secret: s3cret-of-alerts, prompt: "{text}", deliver: telegram, deliver_extra: { chat_id: "1" }, deliver_only: true }\n',
  );
  writeFileSync(join(cwd, 'hermes', '.env'), `TELEGRAM_BOT_TOKEN=${TOKEN}\nTELEGRAM_HOME_CHANNEL=42\n`);
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const run = (...argv: string[]) => runRecorded(['import-hermes', ...argv], { cwd });

describe('import-hermes', () => {
  it('writes a config without secrets and an environment file, both readable for the owner only', async () => {
    const { code, stdout } = await run('hermes');
    expect([code, stdout]).toEqual([0, expect.stringContaining('routes: alerts')]);
    const [yaml, environment] = ['angelia.yaml', 'angelia.env'].map((name) =>
      readFileSync(join(cwd, name), 'utf8'),
    );
    expect(yaml).toContain('alerts:');
    for (const secret of [TOKEN, 's3cret-of-alerts']) {
      expect(environment).toContain(secret);
      expect([yaml, stdout].join()).not.toContain(secret);
    }
    expect(statSync(join(cwd, 'angelia.env')).mode & 0o777).toBe(0o600);
  });

  it('overwrites files only with --force, and then closes them to other users', async () => {
    writeFileSync(join(cwd, 'angelia.env'), 'MINE=1', { mode: 0o644 });
    const refused = await run('hermes');
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('--force')]);
    expect(readFileSync(join(cwd, 'angelia.env'), 'utf8')).toBe('MINE=1');
    expect((await run('hermes', '--force')).code).toBe(0);
    expect(statSync(join(cwd, 'angelia.env')).mode & 0o777).toBe(0o600);
  });

  it('creates the directory that it writes to', async () => {
    expect((await run('hermes', '--to', 'etc/angelia')).code).toBe(0);
    expect(readFileSync(join(cwd, 'etc', 'angelia', 'angelia.yaml'), 'utf8')).toContain('alerts:');
  });

  it('names a missing or unreadable file in one line', async () => {
    const nowhere = await run('nothing-here');
    expect([nowhere.code, nowhere.stderr]).toEqual([
      3,
      expect.stringContaining('nothing-here/config.yaml does not exist'),
    ]);
    writeFileSync(join(cwd, 'hermes', 'config.yaml'), 'platforms: [');
    const broken = await run('hermes');
    expect(broken.code).toBe(2);
    expect(broken.stderr).not.toMatch(/^ *at /m);
  });
});

describe('doctor', () => {
  it('refuses an invalid address', async () => {
    const { code, stderr } = await runRecorded(['doctor', '--admin', 'delivery'], { cwd });
    expect([code, stderr]).toEqual([2, expect.stringContaining('delivery=http://')]);
  });
});
