import { appendFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { readLines } from './lines.ts';
import { type Message, type Request, SOCKET_NAME } from './protocol.ts';
import { Supervisor } from './supervisor.ts';

/**
 * The program that commands run under. It is small, knows neither Postgres nor NATS nor any secret, and outlives
 * process-watcher: whoever kills that one, output and exit codes are still written (invariant exit-is-kept).
 *
 * One for all commands of a watcher, not one each. Measured (Node 24, 2 cores): a Node process is 46 MB, of which 10 are
 * its own, and takes 30 ms of CPU to start, so that 200 commands at once would need 2 to 9 GB and 6 s before the last of
 * them begins; here they are one process of 60 MB, and 1 ms each. The price is that a SIGKILL to this one process loses
 * the exit codes of all that run: they are then reported as lost, each once.
 *
 * It ends when nothing runs and no watcher is connected, and when its directory is taken away.
 *
 *   node supervisor/main.js <directory> [<where the sessions' files are, if elsewhere>]
 */
const [, , directory, work] = process.argv;
if (directory === undefined) throw new Error('usage: supervisor <directory>');
// Relative from here on: the path of a Unix socket has at most 107 bytes, a data directory may have more.
process.chdir(directory);

/** A watcher that restarts is back well within it. */
const LONELY_MS = 30_000;
const LOOK_MS = 2_000;

const sockets = new Set<Socket>();
const supervisor = new Supervisor(directory, (event, dir) => {
  for (const socket of sockets) send(socket, { event, dir });
});

// One command's trouble must not cost all others their exit codes.
process.on('uncaughtException', (error) => note(`uncaught: ${error.stack}`));
process.on('unhandledRejection', (error) => note(`unhandled: ${(error as Error).stack}`));
// Of the watcher, its terminal or its service manager: they do not mean what runs here.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGPIPE'] as const) process.on(signal, () => {});
preferOthersWhenMemoryIsShort();

const server = createServer(serve);
await listen(server);
let lonelySince = performance.now();
setInterval(() => void look(), LOOK_MS);

async function look(): Promise<void> {
  if (!existsSync(SOCKET_NAME)) {
    await supervisor.stopAll();
    // Whoever removes the data directory means all of it.
    if (work !== undefined) rmSync(work, { recursive: true, force: true });
    process.exit(0);
  }
  if (sockets.size > 0 || supervisor.size > 0) lonelySince = performance.now();
  if (performance.now() - lonelySince < LONELY_MS) return;
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

/** A file that is left of a dead predecessor is in the way; a living one has this place already. */
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

/** Needs root. The commands themselves give the privilege back when they begin (see the watcher's launch script). */
function preferOthersWhenMemoryIsShort(): void {
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
    // Nowhere to say it.
  }
}
