import { LONGEST_TIMER_MS, WakeUp } from '@angelia/waiting';

/** One message of the gateway (https://docs.discord.com/developers/events/gateway-events#payload-structure). */
export interface Frame {
  readonly op: number;
  readonly d?: unknown;
  readonly s?: number | null;
  readonly t?: string | null;
}

export const OP = {
  dispatch: 0,
  heartbeat: 1,
  identify: 2,
  resume: 6,
  reconnect: 7,
  invalidSession: 9,
  hello: 10,
  heartbeatAck: 11,
} as const;

/** Any code except 1000 and 1001: with those Discord would end the session. */
const KEEP_SESSION = 4_000;
/** At most this much waits in memory for a slow database. Discord keeps what we have not taken. */
const MOST_WAITING = 1_000;
/** For the connection and the first message. */
const HELLO_MS = 20_000;
const ABNORMAL = 1_006;

/** One connection to the gateway. It hands out messages in order, and keeps sending heartbeats while nobody takes them. */
export class GatewaySocket {
  readonly #socket: WebSocket;
  readonly #waiting: Frame[] = [];
  readonly #wakeUp = new WakeUp();
  #beat: NodeJS.Timeout | null = null;
  #answered = true;
  #closed: number | null = null;
  /** The last event that is durable: what Discord may forget. */
  confirmed: number | null;

  constructor(url: string, confirmed: number | null) {
    this.confirmed = confirmed;
    this.#socket = new WebSocket(url);
    this.#socket.addEventListener('message', ({ data }) => this.#received(data));
    this.#socket.addEventListener('close', ({ code }) => this.#ended(code));
    // The close event follows with the code.
    this.#socket.addEventListener('error', () => undefined);
    this.#beat = setTimeout(() => this.#drop(), HELLO_MS);
  }

  /** The close code; null: it is open. */
  get closed(): number | null {
    return this.#closed;
  }

  send(frame: Frame): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(frame));
  }

  /**
   * Waits for messages, then returns all that have arrived, in order. Empty: the connection is closed, or the signal has
   * aborted.
   */
  async receive(signal: AbortSignal): Promise<readonly Frame[]> {
    while (this.#waiting.length === 0 && this.#closed === null && !signal.aborted) {
      await this.#wakeUp.wait(LONGEST_TIMER_MS, signal);
    }
    return this.#waiting.splice(0);
  }

  /** Keeps Discord's session, so that the next connection can resume it. */
  close(): void {
    this.#drop();
  }

  #received(data: unknown): void {
    const frame = frameOf(data);
    if (frame === null || this.#closed !== null) return;
    switch (frame.op) {
      case OP.hello:
        this.#startHeartbeats(frame.d);
        this.#keep(frame);
        return;
      case OP.heartbeat:
        this.#sendHeartbeat();
        return;
      case OP.heartbeatAck:
        this.#answered = true;
        return;
      default:
        this.#keep(frame);
    }
  }

  #keep(frame: Frame): void {
    if (this.#waiting.length >= MOST_WAITING) {
      this.#drop();
      return;
    }
    this.#waiting.push(frame);
    this.#wakeUp.wake();
  }

  #startHeartbeats(hello: unknown): void {
    const { heartbeat_interval: given } = (hello ?? {}) as { heartbeat_interval?: unknown };
    const interval = typeof given === 'number' && given > 0 ? given : 41_250;
    this.#stopTimer();
    const beat = () => {
      // Without an answer to the last one the connection is dead, whatever TCP says.
      if (!this.#answered) {
        this.#drop();
        return;
      }
      this.#answered = false;
      this.#sendHeartbeat();
      this.#beat = setTimeout(beat, interval);
    };
    // "The first heartbeat after interval * jitter": not all bots at once after an outage.
    this.#beat = setTimeout(beat, interval * Math.random());
  }

  #sendHeartbeat(): void {
    this.send({ op: OP.heartbeat, d: this.confirmed });
  }

  #drop(): void {
    try {
      this.#socket.close(KEEP_SESSION);
    } catch {
      // It was not open yet, or is closed.
    }
    this.#ended(ABNORMAL);
  }

  #ended(code: number): void {
    this.#stopTimer();
    if (this.#closed !== null) return;
    this.#closed = code;
    this.#wakeUp.wake();
  }

  #stopTimer(): void {
    if (this.#beat !== null) clearTimeout(this.#beat);
    this.#beat = null;
  }
}

function frameOf(data: unknown): Frame | null {
  if (typeof data !== 'string') return null;
  try {
    const frame: unknown = JSON.parse(data);
    return typeof frame === 'object' && frame !== null && 'op' in frame && typeof frame.op === 'number'
      ? (frame as Frame)
      : null;
  } catch {
    return null;
  }
}
