import { type ServerSocket, startWebSocketServer } from '../network/websocket-server.ts';

/** The WebSockets of an app (https://docs.slack.dev/apis/events-api/using-socket-mode). */
export interface SlackSocketMode {
  /** How many connections have said hello so far. */
  readonly connected: number;
  readonly open: number;
  /** The envelopes that were acknowledged, in order. */
  readonly acknowledged: readonly string[];
  /** Sends an envelope over the newest connection, or over the oldest. Returns its id. */
  send(update: Readonly<Record<string, unknown>>, over?: 'newest' | 'oldest'): string;
  /** As before Slack renews its servers: the client has to open another connection. */
  warn(): void;
  /** Closes the oldest connection, as Slack does after a warning. */
  closeOldest(): void;
  /** The network is cut: nobody hears a thing. */
  cut(): void;
  /** Somebody switched Socket Mode off. */
  disable(): void;
  ping(): void;
  /** Answers to `ping`. */
  readonly pongs: number;
}

interface SocketModeServer extends SlackSocketMode {
  /** For the answer of `apps.connections.open`. */
  newUrl(): string;
  stop(): Promise<void>;
}

/** "Up to 10 open WebSocket connections at the same time". */
const MOST_CONNECTIONS = 10;

export async function startSocketMode(problem: (what: string) => void): Promise<SocketModeServer> {
  const sent = new Set<string>();
  const acknowledged: string[] = [];
  const tickets = new Set<string>();
  const open: ServerSocket[] = [];
  let connected = 0;
  let made = 0;
  let pongs = 0;
  const server = await startWebSocketServer({
    opened(socket) {
      const ticket = new URL(socket.path, 'ws://stand-in').searchParams.get('ticket') ?? '';
      if (!tickets.delete(ticket)) {
        problem('a WebSocket without a ticket, or with an old one');
        socket.close(1008);
        return;
      }
      if (open.length >= MOST_CONNECTIONS) {
        socket.send({ type: 'disconnect', reason: 'too_many_websockets' });
        socket.close(1000);
        return;
      }
      open.push(socket);
      connected += 1;
      socket.send({
        type: 'hello',
        num_connections: open.length,
        debug_info: { host: 'applink-1', build_number: 1, approximate_connection_time: 18_060 },
        connection_info: { app_id: 'A0123456789' },
      });
    },
    message(_socket, message) {
      const { envelope_id: id, ...more } = (message ?? {}) as Readonly<Record<string, unknown>>;
      if (typeof id !== 'string' || !sent.has(id)) problem(`an acknowledgement of ${String(id)}`);
      else if (Object.keys(more).some((key) => key !== 'payload')) problem('an acknowledgement with more');
      else acknowledged.push(id);
    },
    pong() {
      pongs += 1;
    },
    closed(socket) {
      const index = open.indexOf(socket);
      if (index >= 0) open.splice(index, 1);
    },
  });
  const typeOf = ({ type, command }: Readonly<Record<string, unknown>>) =>
    type === 'event_callback' ? 'events_api' : command === undefined ? 'interactive' : 'slash_commands';
  return {
    get connected() {
      return connected;
    },
    get open() {
      return open.length;
    },
    acknowledged,
    get pongs() {
      return pongs;
    },
    newUrl() {
      made += 1;
      const ticket = `ticket-${made}`;
      tickets.add(ticket);
      return `${server.url}/link/?ticket=${ticket}&app_id=A0123456789`;
    },
    send(update, over = 'newest') {
      made += 1;
      const id = `57d6a792-4d35-4d0b-b6aa-${String(made).padStart(12, '0')}`;
      sent.add(id);
      const socket = open.at(over === 'newest' ? -1 : 0);
      if (socket === undefined) throw new Error('nobody is connected');
      socket.send({
        envelope_id: id,
        type: typeOf(update),
        payload: update,
        accepts_response_payload: typeOf(update) !== 'events_api',
      });
      return id;
    },
    warn: () => open[0]?.send({ type: 'disconnect', reason: 'warning', debug_info: { host: 'applink-1' } }),
    closeOldest: () => open[0]?.close(1000),
    cut() {
      for (const socket of [...open]) socket.cut();
    },
    disable() {
      for (const socket of [...open])
        socket.send({ type: 'disconnect', reason: 'link_disabled', debug_info: { host: 'applink-1' } });
    },
    ping() {
      for (const socket of open) socket.ping();
    },
    stop: server.stop,
  };
}
