import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { pause } from '@angelia/waiting';

/** The connection from one service to one server: a TCP proxy on the loopback interface that fails as networks do. */
export interface Way {
  /** The server's URL through this proxy. */
  readonly url: string;
  /** Resets all open connections. */
  cut(): void;
  /** Resets new connections at once. */
  refuse(refusing: boolean): void;
  delay(byMs: number): void;
  /** Nothing passes. The proxy keeps it and sends it when the silence is over. */
  silence(silent: boolean): void;
  close(): Promise<void>;
}

/** How often a silent connection checks whether the silence is over. */
const LISTEN_MS = 20;

export async function openWay(serverUrl: string): Promise<Way> {
  const target = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const state = { refusing: false, silent: false, delayMs: 0 };

  const server = createServer((client) => {
    if (state.refusing) {
      client.on('error', () => {});
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay();
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      void carry(socket, other);
    }
  });

  async function carry(from: Socket, to: Socket): Promise<void> {
    try {
      for await (const chunk of from) {
        if (state.delayMs > 0) await pause(state.delayMs);
        while (state.silent && !to.destroyed) await pause(LISTEN_MS);
        if (to.destroyed) return;
        if (!to.write(chunk as Buffer)) await once(to, 'drain');
      }
    } catch {
      // One side reset it: `close` closes both.
    }
    to.destroySoon();
  }

  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(serverUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.toString().replace(/\/$/, ''),
    cut,
    refuse(refusing) {
      state.refusing = refusing;
      if (refusing) cut();
    },
    delay(byMs) {
      state.delayMs = byMs;
    },
    silence(silent) {
      state.silent = silent;
    },
    async close() {
      state.silent = false;
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
