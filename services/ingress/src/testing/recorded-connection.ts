import { pause } from '@angelia/waiting';
import type { ChatConnection, ChatMessage, ChatUpdate, PlatformSettings } from '../chats/platform.ts';

/**
 * Runs the connection of a platform as ChatConnections does, with a memory in place of the log: what was taken, each update once,
 * and the offset that is durable.
 */
export interface RecordedConnection {
  /** Every update that was taken, once. */
  readonly taken: readonly ChatUpdate[];
  /** Texts of the messages among them. */
  readonly texts: readonly string[];
  readonly offset: string | null;
  /** Why runs ended. */
  readonly errors: readonly Error[];
  readonly told: readonly string[];
  readonly connected: number;
  /** The next batches cannot be made durable. */
  failTakes(count: number): void;
  /** The next batch is not durable before this resolves. */
  holdTake(until: Promise<unknown>): void;
  start(): void;
  /** As a process that is stopped: what is not durable is forgotten. */
  stop(): Promise<void>;
}

/** Short: tests wait for the next try. */
const PAUSE_MS = 20;

export function recordedConnection(
  connection: ChatConnection,
  settings: PlatformSettings,
): RecordedConnection {
  const taken = new Map<string, ChatUpdate>();
  const errors: Error[] = [];
  const told: string[] = [];
  let offset: string | null = null;
  let connected = 0;
  let failing = 0;
  let held: Promise<unknown> = Promise.resolve();
  let stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();

  async function keepRunning(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await connection.run({
          settings,
          signal,
          offset,
          connected: () => {
            connected += 1;
          },
          tell: (what) => told.push(what),
          take: async (updates, next) => {
            if (failing > 0) {
              failing -= 1;
              throw new Error('the log is away');
            }
            await held;
            for (const update of updates) if (!taken.has(update.updateId)) taken.set(update.updateId, update);
            if (next !== undefined) offset = next;
          },
        });
      } catch (error) {
        if (!signal.aborted) errors.push(error as Error);
        await pause(PAUSE_MS, signal);
      }
    }
  }

  return {
    get taken() {
      return [...taken.values()];
    },
    get texts() {
      return [...taken.values()]
        .filter((update): update is ChatMessage => update.kind === 'message')
        .map(({ text }) => text);
    },
    get offset() {
      return offset;
    },
    errors,
    told,
    get connected() {
      return connected;
    },
    failTakes(count) {
      failing = count;
    },
    holdTake(until) {
      held = until;
    },
    start() {
      stopping = new AbortController();
      running = keepRunning(stopping.signal);
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
