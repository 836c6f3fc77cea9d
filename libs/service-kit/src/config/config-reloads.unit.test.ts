// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is the syntax under test
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigUnusable, configSource, LiveConfig, type LoadedConfig, secretValuesIn } from '@angelia/config';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { KnownSecrets } from '../logs/known-secrets.ts';
import { createLogger } from '../logs/logger.ts';
import { ConfigReloads } from './config-reloads.ts';
import { startingConfig } from './starting-config.ts';

let directory: string;
let path: string;
let logged: Record<string, unknown>[];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'angelia-reload-'));
  path = join(directory, 'angelia.yaml');
  logged = [];
});
afterEach(() => rmSync(directory, { recursive: true }));

const save = (text: string) => writeFileSync(path, text);
const messages = () => logged.map(({ level, msg }) => `${level}: ${msg}`);

/** A service whose settings are the secret of its config. It refuses the secret `unusable`, and fails with `our-bug`. */
async function service(env: Record<string, string> = {}) {
  const source = configSource('ingress', {
    ANGELIA_CONFIG: path,
    ANGELIA_DATA: join(directory, 'data'),
    ...env,
  });
  const secrets = new KnownSecrets();
  const logger = createLogger({
    service: 'ingress',
    instance: 'test',
    level: 'debug',
    secrets,
    destination: { write: (line: string) => logged.push(JSON.parse(line)) },
  });
  const make = ({ config }: LoadedConfig): string => {
    secrets.add(secretValuesIn(config));
    if (config.secret === 'unusable') {
      throw new ConfigUnusable([{ place: 'secret', reason: 'cannot be used here' }]);
    }
    if (config.secret === 'our-bug') throw new TypeError('undefined is not a function');
    return config.secret ?? '';
  };
  const started = await startingConfig(source, make);
  const live = new LiveConfig(started.loaded, started.settings);
  const reloads = new ConfigReloads({ source, service: 'ingress', live, started, make, logger });
  // Keeps the copy. There is nothing to watch in these tests: each asks for its reloads.
  reloads.start();
  reloads.stop();
  return { live, reloads, logger };
}

describe('a reload', () => {
  it('takes a changed file, and says that an unchanged one is unchanged', async () => {
    save('secret: secret-one');
    const { live, reloads } = await service();
    expect(await reloads.reload('signal')).toEqual({ status: 'unchanged', restartNeeded: [] });
    expect(messages().at(-1)).toBe('info: config unchanged');
    save('secret: secret-two');
    expect(await reloads.reload('signal')).toEqual({ status: 'taken', restartNeeded: [] });
    expect([live.current.secret, live.settings]).toEqual(['secret-two', 'secret-two']);
    expect(messages().at(-1)).toBe('info: config taken');
  });

  it('refuses a wrong file with place and reason, and keeps everything as it is', async () => {
    save('secret: secret-one\nlimits: { rate_limit: 3 }');
    const { live, reloads } = await service();
    save('secret: secret-two\nlimits: { rate_limit: many }');
    const result = await reloads.reload('file');
    expect(result.status === 'refused' && result.error.lines).toEqual([
      `limits.rate_limit: "many" is not a number. Write a number, without quotes. (${path}:2:23)`,
    ]);
    expect([live.current.secret, live.settings, live.current.limits.rate_limit]).toEqual([
      'secret-one',
      'secret-one',
      3,
    ]);
    expect(reloads.readiness()).toMatchObject({
      ok: true,
      in_force: 'last_good',
      problems: [expect.stringContaining('angelia.yaml:2:23')],
    });
    expect(messages().at(-1)).toMatch(/^error: the config file is wrong, and the last good config stays/);
    // Nobody is told the same twice, unless they ask.
    const before = logged.length;
    await reloads.reload('retry');
    expect(logged.length).toBe(before);
    await reloads.reload('api');
    expect(logged.length).toBe(before + 1);
    // Undone: the config in force is that of the file again.
    save('secret: secret-one\nlimits: { rate_limit: 3 }');
    expect(await reloads.reload('file')).toMatchObject({ status: 'taken' });
    expect(reloads.readiness()).toMatchObject({ in_force: 'file' });
  });

  it('refuses what the service itself cannot use, with its place in the file', async () => {
    save('secret: secret-one');
    const { live, reloads } = await service();
    save('# a comment\nsecret: unusable');
    const result = await reloads.reload('file');
    expect(result.status === 'refused' && result.error.message).toBe(
      `secret: cannot be used here (${path}:2:9)`,
    );
    expect(live.settings).toBe('secret-one');
  });

  it('survives an error that is our own', async () => {
    save('secret: secret-one');
    const { live, reloads } = await service();
    save('secret: our-bug');
    expect(await reloads.reload('file')).toMatchObject({ status: 'refused' });
    expect(live.settings).toBe('secret-one');
    // The same at a start.
    const next = await service();
    expect([next.live.settings, next.reloads.readiness().in_force]).toEqual(['secret-one', 'last_good']);
    expect(logged.at(-1)).toMatchObject({ level: 'error', err: { type: 'TypeError' } });
  });

  it('survives that the file is gone', async () => {
    save('secret: secret-one');
    const { live, reloads } = await service();
    rmSync(path);
    expect(await reloads.reload('file')).toMatchObject({ status: 'refused' });
    expect(live.settings).toBe('secret-one');
  });

  it('takes new values of .env, and never those that the environment sets', async () => {
    save('secret: "${A}-${B}"');
    writeFileSync(join(directory, '.env'), 'A=file-one\nB=file-one\n');
    const { live, reloads } = await service({ B: 'environment' });
    expect(live.settings).toBe('file-one-environment');
    writeFileSync(join(directory, '.env'), 'A=file-two\nB=file-two\n');
    expect(await reloads.reload('file')).toMatchObject({ status: 'taken' });
    expect(live.settings).toBe('file-two-environment');
    writeFileSync(join(directory, '.env'), 'B=file-two\n');
    expect(await reloads.reload('file')).toMatchObject({ status: 'refused' });
    expect(live.settings).toBe('file-two-environment');
  });

  it('names what needs a restart, keeps the old value of it, and takes the rest', async () => {
    save('secret: secret-one\ntiming: { lease_seconds: 20 }');
    const { live, reloads } = await service();
    save('secret: secret-two\ntiming: { lease_seconds: 9 }\nprocess_watcher: { run_as: same }');
    writeFileSync(join(directory, '.env'), 'ANGELIA_PORT=9000\n');
    const all = ['ingress', 'agent-runner', 'delivery', 'process-watcher'];
    expect(await reloads.reload('api')).toEqual({
      status: 'taken',
      restartNeeded: [
        { key: 'timing', services: all },
        { key: 'ANGELIA_PORT (.env)', services: ['ingress'] },
        { key: 'process_watcher.run_as', services: ['process-watcher'] },
      ],
    });
    expect(live.current).toMatchObject({ secret: 'secret-two', timing: { lease_seconds: 20 } });
    expect(reloads.readiness()).toMatchObject({ restart_needed: ['timing', 'ANGELIA_PORT (.env)'] });
    // What only another service has to restart for is told once: this one does not know whether it did.
    save('secret: secret-three\ntiming: { lease_seconds: 9 }\nprocess_watcher: { run_as: same }');
    expect(await reloads.reload('api')).toMatchObject({
      restartNeeded: [{ key: 'timing' }, { key: 'ANGELIA_PORT (.env)' }],
    });
    save('secret: secret-three\ntiming: { lease_seconds: 20 }');
    rmSync(join(directory, '.env'));
    await reloads.reload('api');
    expect(reloads.readiness()).not.toHaveProperty('restart_needed');
  });

  it('names what .env changes and the launcher of the local stack has decided, also after a restart of the service', async () => {
    save('secret: secret-one');
    const write = (text: string) => writeFileSync(join(directory, '.env'), text);
    const decided = { DATABASE_URL: 'postgres://local/one', ANGELIA_PORT: '8644', ANGELIA_LOG_LEVEL: 'info' };
    const launched = { ...decided, ANGELIA_SET_BY_LAUNCHER: 'DATABASE_URL,ANGELIA_PORT' };
    const needed = (reloads: ConfigReloads<string>) => reloads.readiness().restart_needed;
    const { reloads, live } = await service(launched);
    expect(needed(reloads)).toBeUndefined();
    // The environment sets the level of the log, so `.env` does not count for it.
    write('DATABASE_URL=postgres://other/one\nANGELIA_PORT=8644\nANGELIA_LOG_LEVEL=debug\n');
    save('secret: secret-two');
    await reloads.reload('file');
    expect([needed(reloads), live.settings]).toEqual([['DATABASE_URL (.env)'], 'secret-two']);
    expect(needed((await service(launched)).reloads)).toEqual(['DATABASE_URL (.env)']);
    expect(needed((await service(decided)).reloads)).toBeUndefined();
    write('ANGELIA_PORT=9000\n');
    await reloads.reload('file');
    expect(needed(reloads)).toEqual(['ANGELIA_PORT (.env)']);
    rmSync(join(directory, '.env'));
    await reloads.reload('file');
    expect(needed(reloads)).toBeUndefined();
  });

  it('hides the new secrets in the log, and still the old ones', async () => {
    save('secret: a-secret-of-yesterday');
    const { reloads, logger } = await service();
    save('secret: a-secret-of-today');
    await reloads.reload('file');
    logger.info({}, 'both: a-secret-of-yesterday, a-secret-of-today');
    expect(messages().at(-1)).toBe('info: both: [redacted], [redacted]');
  });
});

describe('a start', () => {
  it('with a wrong file uses the last good copy, and says so loudly', async () => {
    save('secret: "${S}"');
    await service({ S: 'a-secret-value' });
    const kept = join(directory, 'data/last-good/ingress.yaml');
    // The names of variables, not their values.
    expect(readFileSync(kept, 'utf8')).toContain('secret: "${S}"');
    save('secret: [');
    const { live, reloads } = await service({ S: 'a-secret-value' });
    expect(live.settings).toBe('a-secret-value');
    expect(reloads.readiness()).toMatchObject({ ok: true, in_force: 'last_good' });
    expect(logged.at(-1)).toMatchObject({ level: 'error', last_good: kept, cause: 'start' });
    // The wrong file did not replace the copy.
    expect(readFileSync(kept, 'utf8')).toContain('secret: "${S}"');
    save('secret: mended-secret');
    expect(await reloads.reload('file')).toMatchObject({ status: 'taken' });
    expect(live.settings).toBe('mended-secret');
    expect(readFileSync(kept, 'utf8')).toContain('mended-secret');
  });

  it('with a file that the service cannot use does the same', async () => {
    save('secret: secret-one');
    await service();
    save('secret: unusable');
    expect((await service()).live.settings).toBe('secret-one');
  });

  it('with a wrong file and no copy, or a copy that is of no use, fails with the reason', async () => {
    save('secret: unusable');
    await expect(service()).rejects.toThrow(`secret: cannot be used here (${path}:1:9)`);
    expect(existsSync(join(directory, 'data'))).toBe(false);
    save('secret: "${S}"');
    await service({ S: 'a-secret-value' });
    save('secret: [');
    await expect(service()).rejects.toThrow('angelia.yaml:1:9: a list is opened with [');
  });

  it('works where no copy can be kept, and says so', async () => {
    save('secret: secret-one');
    writeFileSync(join(directory, 'a-file'), '');
    const { reloads } = await service({ ANGELIA_DATA: join(directory, 'a-file') });
    expect(reloads.readiness()).toMatchObject({ ok: true, not_kept: expect.stringContaining('ENOTDIR') });
    expect(messages()).toContainEqual(expect.stringContaining('warn: no copy of the config could be kept'));
  });
});
