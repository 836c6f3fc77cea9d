import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/** A compiled service in its own process. */
export class RunningService {
  readonly adminPort: number;
  readonly exited: Promise<{ code: number | null; signal: string | null }>;
  stdout = '';
  stderr = '';
  readonly #child: ChildProcess;

  static async start(main: string, env: NodeJS.ProcessEnv): Promise<RunningService> {
    const adminPort = Number(env.ANGELIA_ADMIN_PORT ?? (await freePort()));
    const { PATH, HOME } = process.env;
    const child = spawn(process.execPath, [repositoryPath(main)], {
      env: { PATH, HOME, ANGELIA_ADMIN_PORT: String(adminPort), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return new RunningService(child, adminPort);
  }

  private constructor(child: ChildProcess, adminPort: number) {
    this.#child = child;
    this.adminPort = adminPort;
    child.stdout?.on('data', (data) => {
      this.stdout += String(data);
    });
    child.stderr?.on('data', (data) => {
      this.stderr += String(data);
    });
    // `close`, not `exit`: at `close` all output has been read.
    this.exited = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  }

  get lines(): Record<string, unknown>[] {
    return this.stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Null if it does not listen. */
  async get(
    path: string,
  ): Promise<{ status: number; body: { status?: string; checks?: Record<string, unknown> } } | null> {
    try {
      const response = await fetch(`http://127.0.0.1:${this.adminPort}${path}`, {
        signal: AbortSignal.timeout(5_000),
      });
      return { status: response.status, body: (await response.json()) as { status?: string } };
    } catch {
      return null;
    }
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
    await this.exited;
  }
}

function repositoryPath(path: string): string {
  return fileURLToPath(new URL(`../../../../${path}`, import.meta.url));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

/** A proxy to a server that can be cut and mended. To clients it looks as if the server stopped. */
export class Cuttable {
  readonly port: number;
  readonly #to: number;
  #server: Server | null = null;
  readonly #sockets = new Set<Socket>();

  static async to(port: number): Promise<Cuttable> {
    return new Cuttable(await freePort(), port);
  }

  private constructor(port: number, to: number) {
    this.port = port;
    this.#to = to;
  }

  async mend(): Promise<void> {
    const server = createServer((socket) => {
      const onward = connect(this.#to, '127.0.0.1');
      for (const each of [socket, onward]) {
        this.#sockets.add(each);
        each.on('error', () => {});
        each.on('close', () => {
          this.#sockets.delete(each);
          socket.destroy();
          onward.destroy();
        });
      }
      socket.pipe(onward).pipe(socket);
    });
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.#server = server;
  }

  async cut(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(server, 'close');
  }
}
