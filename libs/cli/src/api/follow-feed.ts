import { isRetryable } from '@angelia/contracts/errors';
import { pause } from '@angelia/waiting';
import { CliError } from '../exit.ts';
import { type Api, parsed, unreachable } from './client.ts';
import { serverSentEvents } from './server-sent-events.ts';
import type { SessionEvent } from './types.ts';

/** Null: the event of a route, a key or a job. */
export type FeedEvent = SessionEvent & { readonly stream_id: string; readonly session_id: string | null };

/** Unless the server says otherwise. A restart takes seconds. */
const RECONNECT_MS = 2_000;
/** About a minute. A restart of ingress takes seconds. */
const MOST_FAILURES = 30;

/**
 * Yields every event of the log from now on, in its order, each once. After a broken connection it continues after the last
 * one. It never ends by itself.
 * @throws CliError as the API client does; the reason of `signal` after an abort
 */
export async function* followFeed(
  api: Api,
  options: {
    readonly query: URLSearchParams;
    readonly signal: AbortSignal;
    readonly forTerminal: boolean;
    /** Called when it is connected for the first time. */
    readonly onOpen: () => void;
    /** Called when the connection broke, with the reason. */
    readonly onBroken: (reason: string) => void;
  },
): AsyncGenerator<FeedEvent> {
  const path = `/v1/events${options.query.size === 0 ? '' : `?${options.query}`}`;
  let last: string | null = null;
  let failures = 0;
  let isOpen = false;
  let waitMs = RECONNECT_MS;
  for (;;) {
    try {
      const place: Record<string, string> = last === null ? {} : { 'last-event-id': last };
      const response = await api.open(path, { accept: 'text/event-stream', ...place }, options.signal);
      if (!isOpen) options.onOpen();
      isOpen = true;
      for await (const { id, data, retryMs } of serverSentEvents(response)) {
        failures = 0;
        last = id ?? last;
        waitMs = retryMs ?? waitMs;
        if (data !== null) yield parsed<FeedEvent>(data, api.baseUrl, options.forTerminal);
      }
      // The server drains.
    } catch (error) {
      options.signal.throwIfAborted();
      const mayPass = !(error instanceof CliError) || isRetryable(error);
      if (!mayPass || !isOpen) throw error;
      failures += 1;
      const reason = error instanceof CliError ? error : (unreachable(api.baseUrl, error) as Error);
      if (failures > MOST_FAILURES) throw reason;
      if (failures === 1) options.onBroken(reason.message);
    }
    await pause(waitMs, options.signal);
  }
}
