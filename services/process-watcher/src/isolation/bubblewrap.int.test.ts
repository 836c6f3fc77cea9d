import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { parseConfig } from '@angelia/contracts';
import { eventually } from '@angelia/testkit';
import { LONGEST_TIMER_MS } from '@angelia/waiting';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { shellArgv } from '../commands/shell.ts';
import { statOf } from '../supervisor/process-identity.ts';
import { EXIT_FILE, type ExitRecord, MARK_VARIABLE, type StartRequest } from '../supervisor/protocol.ts';
import { sessionsOver } from '../supervisor/session-memory.ts';
import { SupervisedCommand } from '../supervisor/supervised-command.ts';
import { bubblewrap } from './bubblewrap.ts';
import { chooseIsolation } from './choose-isolation.ts';
import { findProgramIn } from './find-program.ts';
import { hiddenFrom } from './hidden-paths.ts';
import type { Isolation } from './isolation.ts';
import { withLimits } from './limits.ts';

/**
 * Commands of a stack that does not run as root: they run as the owner of the services' files, and only the isolation
 * keeps them out. If the tests run as root, they become an ordinary user.
 */
const isRoot = process.getuid?.() === 0;
const user = isRoot ? { uid: 61_234, gid: 61_234 } : null;

// Not in TMPDIR: that may be below /dev, of which a command has its own.
const above = await mkdtemp('/tmp/angelia-bubblewrap-');
const data = join(above, 'data');
const configFile = join(above, 'angelia.yaml');
const processes = join(data, 'processes');
await chmod(above, 0o755);
for (const dir of [data, join(data, 'etc'), processes]) mkdirSync(dir, { mode: 0o755 });
for (const name of ['admin-token', 'etc/master-key', 'etc/postgres-password']) {
  await writeFile(join(data, name), `the ${name}`, { mode: 0o600 });
}
await writeFile(configFile, 'secret: of the config', { mode: 0o600 });
writeFileSync(join(above, 'notes'), 'for everybody', { mode: 0o644 });

function isolationWith(processWatcher: Readonly<Record<string, unknown>>) {
  const parsed = parseConfig({ process_watcher: processWatcher });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const attempt = bubblewrap({
    config: parsed.config.process_watcher,
    hidden: () => hiddenFrom(data, configFile),
    directories: { root: processes, workElsewhere: undefined },
    find: findProgramIn(process.env.PATH ?? ''),
  });
  return { attempt, config: parsed.config.process_watcher };
}

const possible = isolationWith({}).attempt;
const withBubblewrap = possible.ok ? describe : describe.skip;

let sessions = 0;
function newSession(): string {
  sessions += 1;
  const work = join(processes, `session-${sessions}`, 'work');
  mkdirSync(work, { recursive: true });
  return work;
}

function giveAll(): void {
  if (user !== null) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, above]);
}

/** Starts a command as process-watcher does, with the supervisor's own class. */
async function begin(
  line: string,
  {
    processWatcher = {},
    work = newSession(),
    ...more
  }: Partial<StartRequest> & { processWatcher?: Readonly<Record<string, unknown>>; work?: string } = {},
) {
  const { attempt, config } = isolationWith(processWatcher);
  if (!attempt.ok) throw new Error(attempt.reason);
  const isolation: Isolation = attempt.isolation;
  const limited = withLimits(shellArgv(line, config), config, {
    cwd: work,
    joinErrors: true,
    groupMayWrite: false,
    path: '',
  });
  const enclosed = isolation.enclose(limited, {
    work,
    user,
    account: null,
    shared: { paths: [], groups: [] },
    joinErrors: true,
  });
  const dir = join(dirname(work), `call_${Math.random().toString(16).slice(2)}`);
  mkdirSync(dir, { mode: 0o700 });
  giveAll();
  const over = Promise.withResolvers<void>();
  const command = new SupervisedCommand(
    {
      op: 'start',
      dir,
      ...enclosed,
      env: { PATH: process.env.PATH ?? '', HOME: work, [MARK_VARIABLE]: dir },
      mark: dir,
      session: work,
      sessionMemoryBytes: 0,
      user,
      stdin: 'none',
      separateErrors: false,
      keepBytes: 1_000_000,
      lifetimeMs: LONGEST_TIMER_MS,
      idleMs: null,
      graceMs: 5_000,
      watchPatterns: [],
      endLeftovers: true,
      ...more,
    },
    { ended: () => {}, matched: () => {}, over: () => over.resolve() },
  );
  const identity = await command.start();
  const output = (): string =>
    existsSync(join(dir, 'output.0')) ? readFileSync(join(dir, 'output.0'), 'utf8') : '';
  return {
    command,
    identity,
    output,
    async end() {
      const exit = await eventually(
        () =>
          existsSync(join(dir, EXIT_FILE)) &&
          (JSON.parse(readFileSync(join(dir, EXIT_FILE), 'utf8')) as ExitRecord),
      );
      await over.promise;
      return { ...exit, output: output() };
    },
  };
}

const run = async (line: string, more: Parameters<typeof begin>[1] = {}) => (await begin(line, more)).end();

withBubblewrap('a command without root', () => {
  let server: Server;
  beforeAll(() => {
    server = createServer((socket) => socket.end('reached\n'));
    return new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    server.close();
    await rm(above, { recursive: true, force: true });
  });

  it('reads no secret of the services, even if the config shows it the directory around them', async () => {
    const secrets = ['admin-token', 'etc/master-key', 'etc/postgres-password'].map((name) =>
      join(data, name),
    );
    for (const processWatcher of [{}, { read_paths: [above] }, { write_paths: [above] }]) {
      const { output } = await run(`cat ${[...secrets, configFile].join(' ')}; ls -A ${data}`, {
        processWatcher,
      });
      expect(output).not.toMatch(/^the |secret: of/m);
      expect(output).toContain('No such file');
      expect(output).not.toContain('etc\n');
    }
    expect((await run(`cat ${above}/notes`)).output).toContain('No such file');
    expect(await run(`cat ${above}/notes`, { processWatcher: { read_paths: [above] } })).toMatchObject({
      output: 'for everybody',
    });
  });

  it('that is an agent’s program is refused at the start if commands cannot see it', () => {
    const agents = { worker: { kind: 'command', command: [join(above, 'agent')], cwd: above } };
    const start = (processWatcher: Readonly<Record<string, unknown>>) => {
      const parsed = parseConfig({ agents, process_watcher: processWatcher });
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
      return chooseIsolation({
        config: parsed.config,
        users: { separateUsers: false },
        directories: { root: processes, workElsewhere: undefined },
        dataDirectory: data,
        configFile,
      });
    };
    expect(() => start({})).toThrow(
      /agents\.worker\.command: commands do not see .*agent.*read_paths.*agents\.worker\.cwd/s,
    );
    expect(start({ read_paths: [above] })).toMatchObject({ kind: 'bubblewrap', warning: null });
  });

  it('writes to its own files and to the paths that the config allows', async () => {
    const work = newSession();
    expect(await run('echo one > file; echo two > /tmp/file; pwd', { work })).toMatchObject({
      output: `${work}\n`,
    });
    expect(await run('cat file /tmp/file', { work })).toMatchObject({ output: 'one\ntwo\n' });
    expect((await run('cat /tmp/file')).output).toContain('No such file');
    const place = join(above, 'shared');
    mkdirSync(place);
    for (const [processWatcher, exit_code] of [
      [{ read_paths: [place] }, 1],
      [{ write_paths: [place] }, 0],
    ] as const) {
      expect(await run(`echo x > ${place}/y`, { processWatcher })).toMatchObject({ exit_code });
    }
    expect((await run('echo x > /usr/x; echo x > /etc/x; echo x > /x')).output).toMatch(
      /^(.*Read-only file system\n){3}$/,
    );
  });

  it('sees only its own processes and can end no others', async () => {
    const { output } = await run(
      `ls -d /proc/[0-9]* | wc -l; kill -0 ${process.pid}; cat /proc/${process.pid}/environ`,
    );
    expect(Number(output.split('\n')[0])).toBeLessThan(8);
    expect(output).toMatch(/No such process[\s\S]*No such file/);
  });

  it('has no capabilities, cannot get any, and cannot make namespaces', async () => {
    const { output } = await run(
      "grep -E '^(CapBnd|CapEff|NoNewPrivs|Seccomp):' /proc/self/status; unshare --user true; unshare --mount true",
    );
    expect(output).toMatch(/CapEff:\t0+\nCapBnd:\t0+\nNoNewPrivs:\t1\nSeccomp:\t2\n/);
    expect(output.match(/unshare failed: Operation not permitted/g)).toHaveLength(2);
  });

  it('reaches the network only if the config allows it', async () => {
    const { port } = server.address() as { port: number };
    const ask = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`;
    expect(await run(ask)).toMatchObject({ output: 'reached\n' });
    const alone = await run(ask, { processWatcher: { network: 'none' } });
    expect(alone.output).toContain('Connection refused');
    expect(alone.exit_code).not.toBe(0);
  });

  it('returns its exit code, which is 128 + n after a signal, as in a shell', async () => {
    expect(await run('exit 7')).toMatchObject({ exit_code: 7, signal: null, left_running: 0 });
    expect(await run('kill -9 $$')).toMatchObject({ exit_code: 137, signal: null });
  });

  it('has its own limits', async () => {
    const { output } = await run('for n in $(seq 40); do sleep 1 & done; wait', {
      processWatcher: { max_user_processes: 30 },
    });
    expect(output).toMatch(/fork: .*(unavailable|retry)/i);
  });

  it('reads what is written to its stdin', async () => {
    const one = await begin('read line; echo "got $line"; read line; echo "got $line"', { stdin: 'open' });
    expect(one.command.write('a\n', false)).toBe('written');
    await eventually(() => one.output() === 'got a\n');
    one.command.write('b\n', true);
    expect(await one.end()).toMatchObject({ output: 'got a\ngot b\n', exit_code: 0 });
  });

  it('has time to save something when it is ended', async () => {
    const one = await begin("trap 'echo saved; exit 5' TERM; echo up; while :; do sleep 0.1; done");
    await eventually(() => one.output() === 'up\n');
    expect(await one.command.stop('stopped', 20_000)).toEqual([]);
    expect(await one.end()).toMatchObject({
      output: expect.stringContaining('saved'),
      exit_code: 5,
      limit: 'stopped',
    });
  });

  it('is ended with everything it started, however that hides', async () => {
    const line =
      'setsid env -i sleep 300 >/dev/null 2>&1 </dev/null & sleep 300 & trap "" TERM; echo up; wait; wait';
    const one = await begin(line);
    await eventually(() => one.output() === 'up\n');
    const all = descendantsOf(one.identity.pid);
    expect(all.length).toBeGreaterThanOrEqual(4);
    expect(await one.command.stop('stopped', 100)).toEqual([]);
    await one.end();
    await eventually(() => all.every(isGone));
  });

  it('counts towards the memory of its session, however it hides', async () => {
    const hides =
      "setsid env -i sh -c '{ head -c 50000000 /dev/zero; echo up; sleep 300; } | tail -c 100000000'";
    const one = await begin(`${hides} & wait`);
    const session = {
      id: 'one',
      ownUser: null,
      user: user?.uid ?? process.getuid?.(),
      commands: [{ identity: one.identity, mark: one.command.mark }],
    };
    await eventually(async () => (await sessionsOver([{ ...session, limitBytes: 40_000_000 }])).length === 1);
    expect(await sessionsOver([{ ...session, limitBytes: 400_000_000 }])).toEqual([]);
    await one.command.stop('memory', 0);
    expect(await one.end()).toMatchObject({ limit: 'memory' });
  });

  it('that leaves a process running in the foreground ends, and so does that process', async () => {
    const one = await begin(
      'setsid env -i sleep 300 >/dev/null 2>&1 </dev/null & sleep 300 & read line; echo bye',
      { stdin: 'open' },
    );
    // The namespace's first process, the shell, and the two processes that it leaves.
    const all = await eventually(() => {
      const found = descendantsOf(one.identity.pid);
      return found.length >= 4 && found;
    });
    one.command.write('\n', false);
    expect(await one.end()).toMatchObject({ output: 'bye\n', exit_code: 0 });
    await eventually(() => all.every(isGone));
  });
});

const isGone = (pid: number): boolean => ['Z', undefined].includes(statOf(pid)?.state);

function descendantsOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number);
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}
