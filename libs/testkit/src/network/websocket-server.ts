import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { listen } from './http-server.ts';

/** The server's end of one connection. Messages are JSON texts. */
export interface ServerSocket {
  /** Of the upgrade, with its query. */
  readonly path: string;
  readonly open: boolean;
  send(message: unknown): void;
  /** Sends this text as it is, valid JSON or not. */
  sendText(text: string): void;
  /** A ping that the client has to answer. */
  ping(): void;
  close(code: number, reason?: string): void;
  /** Cuts the connection without a close frame, as a network does. */
  cut(): void;
}

export interface WebSocketHandlers {
  opened?(socket: ServerSocket): void;
  /** `message` is undefined if it is no JSON. */
  message?(socket: ServerSocket, message: unknown): void;
  /** The answer to `ping`. */
  pong?(socket: ServerSocket): void;
  /** 1006: the client closed the connection without a close frame. */
  closed?(socket: ServerSocket, code: number): void;
}

export interface WebSocketServer {
  /** `ws://127.0.0.1:<port>`. */
  readonly url: string;
  readonly sockets: readonly ServerSocket[];
  stop(): Promise<void>;
}

const MAGIC = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const OPCODES = { continuation: 0, text: 1, close: 8, ping: 9, pong: 10 } as const;
const NO_STATUS = 1005;
const ABNORMAL = 1006;
const PROTOCOL_ERROR = 1002;
/** Clients of stand-ins send less. */
const MOST_BYTES = 1024 * 1024;

/** A real WebSocket server (RFC 6455) on a port of its own: text messages, fragments, ping and close; no extensions. */
export async function startWebSocketServer(handlers: WebSocketHandlers): Promise<WebSocketServer> {
  const endpoint = webSocketEndpoint(handlers);
  const listening = await listen((_request, response) => {
    response.writeHead(426).end();
  });
  listening.server.on('upgrade', endpoint.upgrade);
  return {
    url: listening.url.replace(/^http/, 'ws'),
    get sockets() {
      return endpoint.sockets;
    },
    async stop() {
      endpoint.cutAll();
      await listening.stop();
    },
  };
}

export interface WebSocketEndpoint {
  readonly sockets: readonly ServerSocket[];
  /** For `upgrade` of an HTTP server. */
  upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void;
  /** Also what is only half closed: the server cannot stop before. */
  cutAll(): void;
}

/** The same on a server that also answers requests. */
export function webSocketEndpoint(handlers: WebSocketHandlers): WebSocketEndpoint {
  const open = new Set<Connection>();
  const streams = new Set<Duplex>();
  return {
    get sockets() {
      return [...open];
    },
    cutAll() {
      for (const stream of streams) stream.destroy();
    },
    upgrade(request, stream, head) {
      const key = request.headers['sec-websocket-key'];
      if (key === undefined || request.headers['sec-websocket-version'] !== '13') {
        stream.end('HTTP/1.1 400 Bad Request\r\n\r\n');
        return;
      }
      stream.write(
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
          `Sec-WebSocket-Accept: ${hash('sha1', key + MAGIC, 'base64')}\r\n\r\n`,
      );
      const connection = new Connection(request.url ?? '/', stream, {
        ...handlers,
        closed(socket, code) {
          open.delete(connection);
          handlers.closed?.(socket, code);
        },
      });
      open.add(connection);
      streams.add(stream);
      stream.once('close', () => streams.delete(stream));
      handlers.opened?.(connection);
      if (head.length > 0) connection.read(head);
    },
  };
}

class Connection implements ServerSocket {
  readonly path: string;
  readonly #stream: Duplex;
  readonly #handlers: WebSocketHandlers;
  #received = Buffer.alloc(0);
  #fragments: Buffer[] = [];
  #open = true;

  constructor(path: string, stream: Duplex, handlers: WebSocketHandlers) {
    this.path = path;
    this.#stream = stream;
    this.#handlers = handlers;
    stream.on('data', (bytes: Buffer) => this.read(bytes));
    // A reset is an ordinary end of a connection here.
    stream.on('error', () => this.#ended(ABNORMAL));
    stream.on('close', () => this.#ended(ABNORMAL));
    // A client that was killed. An HTTP server leaves its end open (allowHalfOpen).
    stream.on('end', () => this.cut());
  }

  get open(): boolean {
    return this.#open;
  }

  send(message: unknown): void {
    this.sendText(JSON.stringify(message));
  }

  sendText(text: string): void {
    this.#write(OPCODES.text, Buffer.from(text));
  }

  ping(): void {
    this.#write(OPCODES.ping, Buffer.from('ping'));
  }

  close(code: number, reason = ''): void {
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    this.#write(OPCODES.close, Buffer.concat([payload, Buffer.from(reason)]));
    this.#stream.end();
    this.#ended(code);
  }

  cut(): void {
    this.#stream.destroy();
    this.#ended(ABNORMAL);
  }

  read(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    for (let frame = this.#nextFrame(); frame !== null; frame = this.#nextFrame()) this.#take(frame);
  }

  #nextFrame(): Frame | null {
    const bytes = this.#received;
    if (!this.#open || bytes.length < 2) return null;
    const [first = 0, second = 0] = bytes;
    const short = second & 0x7f;
    const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
    const start = 2 + lengthBytes + 4;
    if (bytes.length < start) return null;
    const length =
      lengthBytes === 0
        ? short
        : lengthBytes === 2
          ? bytes.readUInt16BE(2)
          : Number(bytes.readBigUInt64BE(2));
    // "A server MUST close the connection upon receiving a frame that is not masked."
    if ((second & 0x80) === 0 || length > MOST_BYTES) {
      this.close(PROTOCOL_ERROR);
      return null;
    }
    if (bytes.length < start + length) return null;
    const mask = bytes.subarray(start - 4, start);
    const payload = Buffer.from(bytes.subarray(start, start + length));
    for (let at = 0; at < payload.length; at += 1) payload[at] = (payload[at] ?? 0) ^ (mask[at % 4] ?? 0);
    this.#received = bytes.subarray(start + length);
    return { final: (first & 0x80) !== 0, opcode: first & 0x0f, payload };
  }

  #take({ final, opcode, payload }: Frame): void {
    if (opcode === OPCODES.close) {
      const code = payload.length >= 2 ? payload.readUInt16BE(0) : NO_STATUS;
      this.#write(OPCODES.close, payload);
      this.#stream.end();
      this.#ended(code);
    } else if (opcode === OPCODES.ping) {
      this.#write(OPCODES.pong, payload);
    } else if (opcode === OPCODES.pong) {
      this.#handlers.pong?.(this);
    } else if (opcode === OPCODES.text || opcode === OPCODES.continuation) {
      this.#fragments.push(payload);
      if (!final) return;
      const text = Buffer.concat(this.#fragments).toString('utf8');
      this.#fragments = [];
      this.#handlers.message?.(this, parsed(text));
    }
  }

  #write(opcode: number, payload: Buffer): void {
    if (!this.#open || !this.#stream.writable) return;
    const { length } = payload;
    const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
    head[0] = 0x80 | opcode;
    if (length < 126) {
      head[1] = length;
    } else if (length < 65_536) {
      head[1] = 126;
      head.writeUInt16BE(length, 2);
    } else {
      head[1] = 127;
      head.writeBigUInt64BE(BigInt(length), 2);
    }
    this.#stream.write(Buffer.concat([head, payload]));
  }

  #ended(code: number): void {
    if (!this.#open) return;
    this.#open = false;
    this.#handlers.closed?.(this, code);
  }
}

interface Frame {
  readonly final: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
