import { appendFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { type Message, type Request, readLines, SOCKET_NAME } from './protocol.ts';
import { Supervisor } from './supervisor.ts';

/**
 * The program that commands run under. It is small, knows neither Postgres nor NATS nor any secret, and outlives
 * process-watcher: if that is killed, this still writes output and exit codes (invariant exit-is-kept).
 *
 * A watcher has one supervisor for all its commands, not one each. Measured (Node 24, 2 cores): a Node process takes
 * 46 MB, 10 of them its own, and 30 ms of CPU to start, so 200 commands at once would need 2 to 9 GB, and 6 s before the
 * last of them begins. Here they need one process of 60 MB, and 1 ms each. The price: a SIGKILL to this one process loses
 * the exit codes of all running commands. They are then reported as lost, each once.
 *
 * It ends when nothing runs and no watcher is connected, and when its directory is removed.
 *
 *   node supervisor/main.js <directory> [<where the sessions' files are, if elsewhere>]
 */
const [, , directory, work] = process.argv;
if (directory === undefined) throw new Error('usage: supervisor <directory>');
// Paths are relative from here on: that of a Unix socket has at most 107 bytes, and a data directory may have more.
process.chdir(directory);

/** How long to stay without commands and watchers. A watcher that restarts is back much sooner. */
const IDLE_MS = 30_000;
const CHECK_MS = 2_000;

const sockets = new Set<Socket>();
const supervisor = new Supervisor(directory, (event, dir) => {
  for (const socket of sockets) send(socket, { event, dir });
});

// An error in one command must not lose the exit codes of all others.
process.on('uncaughtException', (error) => note(`uncaught: ${error.stack}`));
process.on('unhandledRejection', (error) => note(`unhandled: ${(error as Error).stack}`));
// These signals are meant for the watcher, its terminal or its service manager, not for the commands here.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGPIPE'] as const) process.on(signal, () => {});
protectFromOutOfMemory();

const server = createServer(serve);
await listen(server);
let idleSince = performance.now();
setInterval(() => void exitWhenUnused(), CHECK_MS);

async function exitWhenUnused(): Promise<void> {
  if (!existsSync(SOCKET_NAME)) {
    await supervisor.stopAll();
    // Somebody removed the data directory: remove the sessions' files too.
    if (work !== undefined) rmSync(work, { recursive: true, force: true });
    process.exit(0);
  }
  if (sockets.size > 0 || supervisor.size > 0) idleSince = performance.now();
  if (performance.now() - idleSince < IDLE_MS) return;
  server.close();
  rmSync(SOCKET_NAME, { force: true });
  process.exit(0);
}

function serve(socket: Socket): void {
  sockets.add(socket);
  socket.on('error', () => {});
  socket.once('close', () => sockets.delete(socket));
  readLines(socket, (line) => void answer(socket, line));
}

async function answer(socket: Socket, line: string): Promise<void> {
  const { id, request } = JSON.parse(line) as { id: number; request: Request };
  try {
    send(socket, { id, reply: await supervisor.answer(request) });
  } catch (error) {
    note(`${request.op}: ${(error as Error).stack}`);
    send(socket, { id, error: (error as Error).message });
  }
}

function send(socket: Socket, message: Message): void {
  if (!socket.destroyed) socket.write(`${JSON.stringify(message)}\n`);
}

/** Replaces the socket of a dead predecessor. If the predecessor is alive, this process is not needed and exits. */
function listen(on: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    on.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') return reject(error);
      const probe = connect(SOCKET_NAME);
      probe.once('connect', () => process.exit(0));
      probe.once('error', () => {
        rmSync(SOCKET_NAME, { force: true });
        on.once('error', reject);
        on.listen(SOCKET_NAME, resolve);
      });
    });
    on.listen(SOCKET_NAME, resolve);
  });
}

/** Tells the kernel to end other processes first. Needs root. Commands undo it for themselves (isolation/limits.ts). */
function protectFromOutOfMemory(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '-500');
  } catch {
    // Not permitted, or not Linux.
  }
}

function note(text: string): void {
  try {
    appendFileSync('supervisor.log', `${new Date().toISOString()} ${text}\n`, { mode: 0o600 });
  } catch {
    // There is nowhere to report it.
  }
}
