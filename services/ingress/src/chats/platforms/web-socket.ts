import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** A WebSocket to a platform, whose messages are JSON. */
export interface PlatformSocket {
  readonly isOpen: boolean;
  send(message: unknown): void;
  close(): void;
  /** Resolves with the reason when the connection has ended, whoever ended it. It names no URL: that may have a secret. */
  readonly ended: Promise<string>;
}

interface SocketOptions {
  readonly signal: AbortSignal;
  /** After this long without a message or a ping, the connection counts as dead, because a cut network closes nothing. */
  readonly silentMs: number;
  opened?(socket: PlatformSocket): void;
  message(message: Readonly<Record<string, unknown>>, socket: PlatformSocket): void;
}

/** Node's own WebSocket answers pings by itself and tells of them here only. */
const PING_CHANNEL = 'undici:websocket:ping';

export function openSocket(url: string, options: SocketOptions): PlatformSocket {
  const { signal, silentMs } = options;
  const end = Promise.withResolvers<string>();
  const connection = new WebSocket(url);
  let over = false;
  let silence: NodeJS.Timeout | undefined;
  const socket: PlatformSocket = {
    get isOpen() {
      return !over && connection.readyState === WebSocket.OPEN;
    },
    send(message) {
      if (socket.isOpen) connection.send(JSON.stringify(message));
    },
    close: () => finish('closed by us'),
    ended: end.promise,
  };
  const finish = (why: string) => {
    if (over) return;
    over = true;
    clearTimeout(silence);
    signal.removeEventListener('abort', onAbort);
    unsubscribe(PING_CHANNEL, onPing);
    // A peer that is gone never answers the closing handshake, so this does not wait for it.
    if (connection.readyState <= WebSocket.OPEN) connection.close();
    end.resolve(why);
  };
  const onAbort = () => finish('stopped');
  const heard = () => {
    if (over) return;
    clearTimeout(silence);
    silence = setTimeout(() => finish(`nothing was received for ${silentMs / 1000} s`), silentMs);
  };
  const onPing = (event: unknown) => {
    if ((event as { readonly websocket?: unknown }).websocket === connection) heard();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  subscribe(PING_CHANNEL, onPing);
  connection.addEventListener('open', () => {
    heard();
    options.opened?.(socket);
  });
  connection.addEventListener('message', ({ data }) => {
    if (over) return;
    heard();
    const message = parsed(data);
    if (message !== null) options.message(message, socket);
  });
  connection.addEventListener('error', () => finish('the connection failed'));
  connection.addEventListener('close', ({ code }) => finish(`the platform closed the connection (${code})`));
  heard();
  if (signal.aborted) finish('stopped');
  return socket;
}

function parsed(data: unknown): Readonly<Record<string, unknown>> | null {
  if (typeof data !== 'string') return null;
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null; // a text that we do not know is not an update
  }
}
