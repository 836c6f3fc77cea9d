import { type ServerSocket, startWebSocketServer } from '../network/websocket-server.ts';
import { eventually } from '../waiting/eventually.ts';

/** Discord's gateway (https://docs.discord.com/developers/events/gateway): sessions, sequence numbers, resuming. */
export interface DiscordGateway {
  /** What `GET /gateway/bot` says. */
  readonly url: string;
  /** Payloads that break the documented rules. */
  readonly problems: readonly string[];
  /** How often a new session was begun, and how often one was resumed. */
  readonly identified: number;
  readonly resumed: number;
  /** Something happened: every session gets it, now or when it is resumed. */
  dispatch(type: string, data: unknown): void;
  /** Resolves when a client has a session, and is connected. */
  ready(): Promise<void>;
  /** Cuts all connections without a word. */
  cut(): void;
  /** Closes all connections with this code. */
  close(code: number): void;
  /** Asks all clients to connect again (op 7). */
  askToReconnect(): void;
  /** Discord forgets all sessions, as it does some minutes after a drop. */
  forgetSessions(): void;
  /** From now on, whoever identifies is closed with this code; null: nobody. */
  refuseWith(code: number | null): void;
  /** From now on heartbeats are answered, or not. */
  answerHeartbeats(answered: boolean): void;
  stop(): Promise<void>;
}

interface GatewaySession {
  readonly id: string;
  readonly events: { readonly s: number; readonly t: string; readonly d: unknown }[];
  socket: ServerSocket | null;
}

interface Payload {
  readonly op?: unknown;
  readonly d?: unknown;
}

/** As Discord says it. */
const HEARTBEAT_MS = 41_250;
const INTENT_BITS = (1 << 26) - 1;
/** Of a connection whose session goes on elsewhere. */
const RECONNECTED = 4000;
const CLOSE = { decodeError: 4002, authenticationFailed: 4004, invalidSequence: 4007, invalidVersion: 4012 };

export interface GatewayOptions {
  readonly token: string;
  readonly botId: string;
  readonly applicationId: string;
  readonly heartbeatMs?: number;
}

export async function startDiscordGateway(options: GatewayOptions): Promise<DiscordGateway> {
  const sessions = new Map<string, GatewaySession>();
  const problems: string[] = [];
  let made = 0;
  let resumed = 0;
  let refusal: number | null = null;
  let answersHeartbeats = true;

  const sessionOf = (socket: ServerSocket) => [...sessions.values()].find((one) => one.socket === socket);

  function add(session: GatewaySession, type: string, data: unknown): void {
    const event = { s: session.events.length + 1, t: type, d: data };
    session.events.push(event);
    session.socket?.send({ op: 0, ...event });
  }

  function refuse(socket: ServerSocket, problem: string, code: number): void {
    problems.push(problem);
    socket.close(code);
  }

  function identify(socket: ServerSocket, data: Readonly<Record<string, unknown>>): void {
    const code = refusal ?? (data.token === options.token ? null : CLOSE.authenticationFailed);
    if (code !== null) {
      socket.close(code);
      return;
    }
    const problem = problemOf(data);
    if (problem !== null) {
      refuse(socket, problem, CLOSE.decodeError);
      return;
    }
    made += 1;
    const session: GatewaySession = { id: `session-${made}`, events: [], socket };
    sessions.set(session.id, session);
    add(session, 'READY', {
      v: 10,
      user: { id: options.botId, username: 'angelia', discriminator: '0000', bot: true },
      guilds: [{ id: '900', unavailable: true }],
      session_id: session.id,
      resume_gateway_url: server.url,
      application: { id: options.applicationId, flags: 1 << 19 },
    });
  }

  function resume(socket: ServerSocket, data: Readonly<Record<string, unknown>>): void {
    const session = sessions.get(String(data.session_id));
    const { seq, token } = data;
    if (token !== options.token) {
      socket.close(CLOSE.authenticationFailed);
      return;
    }
    if (session === undefined) {
      socket.send({ op: 9, d: false });
      return;
    }
    if (typeof seq !== 'number' || seq > session.events.length) {
      refuse(socket, `seq ${seq}`, CLOSE.invalidSequence);
      return;
    }
    resumed += 1;
    const before = session.socket;
    session.socket = socket;
    before?.close(RECONNECTED);
    for (const event of session.events.slice(seq)) socket.send({ op: 0, ...event });
    add(session, 'RESUMED', {});
  }

  const server = await startWebSocketServer({
    opened(socket) {
      const { searchParams } = new URL(socket.path, 'ws://gateway');
      if (searchParams.get('v') === '10' && searchParams.get('encoding') === 'json') {
        const d = { heartbeat_interval: options.heartbeatMs ?? HEARTBEAT_MS };
        socket.send({ op: 10, d, s: null, t: null });
      } else {
        refuse(socket, `opened as ${socket.path}`, CLOSE.invalidVersion);
      }
    },
    message(socket, message) {
      const { op, d } = (message ?? {}) as Payload;
      if (op === 1 && (d === null || typeof d === 'number')) {
        if (answersHeartbeats) socket.send({ op: 11 });
      } else if (op === 2 && isObject(d)) {
        identify(socket, d);
      } else if (op === 6 && isObject(d)) {
        resume(socket, d);
      } else {
        refuse(socket, `op ${op}: ${JSON.stringify(d)}`, CLOSE.decodeError);
      }
    },
    closed(socket, code) {
      const session = sessionOf(socket);
      if (session === undefined) return;
      session.socket = null;
      // "If the client closes the connection with 1000 or 1001, the session will be invalidated".
      if (code === 1000 || code === 1001) sessions.delete(session.id);
    },
  });

  return {
    url: server.url,
    problems,
    get identified() {
      return made;
    },
    get resumed() {
      return resumed;
    },
    dispatch(type, data) {
      for (const session of sessions.values()) add(session, type, data);
    },
    async ready() {
      await eventually(() => [...sessions.values()].some(({ socket }) => socket?.open === true), {
        describe: 'a client with a session of the gateway',
      });
    },
    cut() {
      for (const socket of server.sockets) socket.cut();
    },
    close(code) {
      for (const socket of server.sockets) socket.close(code);
    },
    askToReconnect() {
      for (const socket of server.sockets) socket.send({ op: 7, d: null });
    },
    forgetSessions() {
      sessions.clear();
    },
    refuseWith(code) {
      refusal = code;
    },
    answerHeartbeats(answered) {
      answersHeartbeats = answered;
    },
    stop: server.stop,
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** https://docs.discord.com/developers/events/gateway-events#identify */
function problemOf({ intents, properties }: Readonly<Record<string, unknown>>): string | null {
  if (typeof intents !== 'number' || (intents & ~INTENT_BITS) !== 0) return 'intents';
  const given = isObject(properties) ? properties : {};
  return ['os', 'browser', 'device'].find((key) => typeof given[key] !== 'string') ?? null;
}
