import { type ServerSocket, type WebSocketEndpoint, webSocketEndpoint } from '../network/websocket-server.ts';

/** The WebSocket of the API v4: a client gives its token, then gets numbered events. */
export interface MattermostSocket {
  /** Clients that gave the right token. */
  readonly clients: number;
  /** How many there were so far. */
  readonly greeted: number;
  send(event: string, data: Readonly<Record<string, unknown>>): void;
  /** The number of the next event is left out, as when the server drops one. */
  skip(): void;
  cut(): void;
}

interface MattermostSocketEndpoint extends MattermostSocket {
  readonly endpoint: WebSocketEndpoint;
}

export function mattermostSocket(token: string, problem: (what: string) => void): MattermostSocketEndpoint {
  const clients = new Map<ServerSocket, { seq: number; asked: number }>();
  let greeted = 0;
  const endpoint = webSocketEndpoint({
    opened(socket) {
      if (socket.path.split('?', 1)[0] !== '/api/v4/websocket') {
        problem(`a WebSocket at ${socket.path}`);
        socket.close(1008);
      }
    },
    message(socket, message) {
      const { seq, action, data } = (message ?? {}) as Readonly<Record<string, unknown>>;
      if (typeof seq !== 'number' || typeof action !== 'string') {
        problem('a message without seq and action');
        return;
      }
      const known = clients.get(socket);
      if (action === 'authentication_challenge') {
        if ((data as { readonly token?: unknown } | undefined)?.token !== token) {
          socket.send({
            status: 'FAIL',
            seq_reply: seq,
            error: { id: 'api.web_socket_router.not_authenticated' },
          });
          socket.close(1000);
          return;
        }
        greeted += 1;
        clients.set(socket, { seq: 1, asked: seq });
        socket.send({ status: 'OK', seq_reply: seq });
        socket.send({
          event: 'hello',
          data: { server_version: '10.5.0', connection_id: 'c' },
          broadcast: broadcast(''),
          seq: 0,
        });
      } else if (known === undefined) {
        problem(`${action} before the token`);
      } else {
        if (seq <= known.asked) problem('a seq that does not grow');
        known.asked = seq;
        if (action === 'ping') socket.send({ status: 'OK', data: { text: 'pong' }, seq_reply: seq });
      }
    },
    closed: (socket) => void clients.delete(socket),
  });
  return {
    endpoint,
    get clients() {
      return clients.size;
    },
    get greeted() {
      return greeted;
    },
    send(event, data) {
      for (const [socket, state] of clients) {
        socket.send({ event, data, broadcast: broadcast(String(data.channel_id ?? '')), seq: state.seq });
        state.seq += 1;
      }
    },
    skip() {
      for (const state of clients.values()) state.seq += 1;
    },
    cut() {
      for (const socket of endpoint.sockets) socket.cut();
    },
  };
}

function broadcast(channelId: string) {
  return { omit_users: null, user_id: '', channel_id: channelId, team_id: '', connection_id: '' };
}
