import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type WatcherFixture, watcherFixture } from '../testing/watcher-fixture.ts';
import { chooseUserPolicy } from '../users/user-policy.ts';
import type { Watcher } from '../watcher/watcher.ts';
import { findProgramIn } from './find-program.ts';
import { hiddenFrom } from './hidden-paths.ts';
import { namespaces } from './namespaces.ts';

const find = findProgramIn(process.env.PATH ?? '');
const directory = await mkdtemp(join(tmpdir(), 'angelia-namespaces-'));
const configFile = join(directory, 'angelia.yaml');
await chmod(directory, 0o755);
// Open modes, so that only the isolation can hide them.
await writeFile(configFile, 'secret: of the config', { mode: 0o644 });
await writeFile(join(directory, 'notes'), 'for everybody', { mode: 0o644 });

const attempt = (options: { kernel?: string } = {}) =>
  namespaces({
    config: { network: 'host' },
    hidden: () => hiddenFrom(directory, null),
    directories: { root: directory, workElsewhere: undefined },
    find,
    ...options,
  });

// Root, and allowed to mount.
const asRoot = chooseUserPolicy({ run_as: 'auto' }).separateUsers && attempt().ok ? describe : describe.skip;

afterAll(() => rm(directory, { recursive: true }));

asRoot('a command of root, in namespaces', () => {
  let fixture: WatcherFixture;
  let watcher: Watcher;
  beforeAll(async () => {
    fixture = await watcherFixture({ configFile });
    watcher = await fixture.watcher();
    await writeFile(join(fixture.dataDirectory, 'careless'), 'a secret', { mode: 0o644 });
  });
  afterAll(() => fixture.stop());
  const run = async (command: string) =>
    fixture.run(watcher, await fixture.running(), 'terminal', { command });

  it('sees neither the data directory nor the config, whatever their modes, but sees what is open to everybody', async () => {
    const { output } = await run(
      `cat ${fixture.dataDirectory}/careless; cat ${configFile}; cat ${directory}/notes; pwd; touch mine; ls`,
    );
    expect(output).not.toMatch(/a secret|of the config/);
    expect(output).toMatch(/No such file or directory\nfor everybody.*\/work\nmine\n$/);
  });

  it('sees only the processes of its session', async () => {
    const { output } = await run('cat /proc/[0-9]*/status | grep -E "^Uid:" | sort -u; id -u; ls /proc/1');
    const [uids, uid, first] = String(output).split('\n');
    expect(uids?.split('\t')[1]).toBe(uid);
    expect(first).toContain('No such file');
  });

  it('has no capabilities and cannot get any', async () => {
    const { output } = await run("grep -E '^(CapBnd|CapPrm|NoNewPrivs):' /proc/self/status");
    expect(output).toMatch(/^CapPrm:\t0+\nCapBnd:\t0+\nNoNewPrivs:\t1\n$/);
  });

  it('is the process that the supervisor started, with its pid, its signal and its exit code', async () => {
    const id = await fixture.running();
    const { process_id } = await fixture.run(watcher, id, 'terminal', {
      command: 'echo $$; exec sleep 300',
      background: true,
    });
    const { pid } = await fixture.waitFor(id, 'process.started');
    await eventually(async () => {
      const { output } = await fixture.run(watcher, id, 'process', { action: 'log', process_id });
      return output === `${pid}\n`;
    });
    await fixture.run(watcher, id, 'process', { action: 'kill', process_id });
    expect(await fixture.waitFor(id, 'process.exited')).toMatchObject({ signal: 'SIGTERM' });
    expect(await run('kill -9 $$')).toMatchObject({ exit_code: null, signal: 'SIGKILL' });
  });

  it('leaves no mount on the host', () => {
    expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(fixture.dataDirectory);
  });

  it('reaches the network only if the config allows it', async () => {
    const server = createServer((socket) => socket.end('reached\n'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const command = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`;
    try {
      expect(await run(command)).toMatchObject({ output: 'reached\n' });
      const alone = await fixture.watcher('alone', undefined, undefined, { limits: { network: 'none' } });
      const { output } = await fixture.run(alone, await fixture.running(), 'terminal', { command });
      expect(output).toMatch(/refused|unreachable/);
    } finally {
      server.close();
    }
  });
});

it('an older kernel is refused: hiding processes would affect the whole host', () => {
  expect(attempt({ kernel: '5.7.19-generic' })).toEqual({
    ok: false,
    reason: expect.stringContaining('5.8 or newer'),
  });
});
