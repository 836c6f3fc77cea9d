import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { keptSecret, makePassword, readIfThere, writePrivate } from '../data-directory/kept-file.ts';
import { type Layout, makeLayout } from '../data-directory/layout.ts';
import { openPorts, type Ports } from '../data-directory/ports.ts';
import { LaunchError } from '../launch-error.ts';
import { openRunningPrograms } from '../programs/running-programs.ts';
import { type Program, SupervisedProgram } from '../programs/supervised-program.ts';
import { waitUntilSaying } from '../wait-until.ts';
import { findNatsServer } from './packaged-programs.ts';

interface Nats {
  readonly program: Program;
  /** With user and password, so that other users of this machine cannot publish. */
  readonly url: string;
  waitUntilReady(running: () => boolean): Promise<void>;
}

interface NatsOptions {
  readonly port?: number;
  readonly say?: (line: string) => void;
}

const USER = 'angelia';

/** Finds or fetches nats-server, writes its config, and returns how to run it. */
export async function prepareNats(layout: Layout, ports: Ports, options: NatsOptions = {}): Promise<Nats> {
  const command = await findNatsServer(options.say);
  const port = options.port ?? (await ports('nats'));
  const password = keptSecret(join(layout.etc, 'nats-password'), makePassword);
  const config = join(layout.etc, 'nats.conf');
  writePrivate(config, configFile(layout, port, password));
  return {
    url: `nats://${USER}:${password}@127.0.0.1:${port}`,
    program: {
      name: 'nats',
      command,
      args: ['--config', config],
      cwd: layout.dataDir,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, TZ: 'UTC', ...ONE_PROCESSOR },
      stopSignals: [
        { signal: 'SIGTERM', waitMs: 10_000 },
        { signal: 'SIGKILL', waitMs: 0 },
      ],
    },
    waitUntilReady: (running) => waitUntilReady(layout, port, running, options.say ?? (() => {})),
  };
}

/** Starts only NATS, for tests. It is not restarted when it dies. */
export async function startNats(
  options: NatsOptions & { dataDir: string },
): Promise<{ url: string; pid: number; stop(): Promise<void> }> {
  const layout = await makeLayout(options.dataDir);
  const nats = await prepareNats(layout, openPorts(layout), options);
  const supervised = new SupervisedProgram(nats.program, {
    layout,
    running: openRunningPrograms(layout),
    restart: false,
  });
  await supervised.start();
  await nats.waitUntilReady(() => supervised.running);
  return { url: nats.url, pid: supervised.pid ?? 0, stop: () => supervised.stop() };
}

/**
 * A hint passes through several goroutines of the server. On several processors each of them wakes the next one's thread,
 * which took a fifth of the server's CPU and delayed the hint (docs/bench.md). At 0.11 ms per session, one core is enough
 * for 9,000 sessions/s, far more than the rest of a local stack.
 */
const ONE_PROCESSOR = { GOMAXPROCS: '1' };

// These limits are far above the streams' own limits. Without them nats-server reserves three quarters of the memory and
// of the disk.
const configFile = (
  layout: Layout,
  port: number,
  password: string,
): string => `# made by the launcher at each start
listen: "127.0.0.1:${port}"
server_name: "angelia-local"
authorization { user: "${USER}", password: "${password}" }
jetstream {
  store_dir: ${JSON.stringify(layout.nats)}
  max_memory_store: 256MB
  max_file_store: 8GB
}
`;

/** The server greets each client with INFO, but only once JetStream has read its store, which may take long after a crash. */
async function waitUntilReady(
  layout: Layout,
  port: number,
  running: () => boolean,
  say: (line: string) => void,
): Promise<void> {
  const ready = async () => {
    if (!running()) throw failed(layout, 'nats-server ended while starting');
    return greets(port);
  };
  await waitUntilSaying(ready, () => say(`waiting for nats-server to start (see ${logOf(layout)})`));
}

function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1_000, () => done(false));
    socket.once('error', () => done(false));
    socket.once('close', () => done(false));
    socket.once('data', (data) => done(data.toString('latin1').startsWith('INFO ')));
  });
}

const logOf = (layout: Layout): string => join(layout.logs, 'nats.log');

function failed(layout: Layout, what: string): LaunchError {
  const log = logOf(layout);
  const lines = existsSync(log) ? (readIfThere(log) ?? '').trim().split('\n') : [];
  return new LaunchError('NATS_FAILED', `${what}: ${lines.slice(-2).join(' / ')} (see ${log})`);
}
