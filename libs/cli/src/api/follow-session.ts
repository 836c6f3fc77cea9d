import { isRetryable } from '@angelia/contracts/errors';
import { pause } from '@angelia/waiting';
import { CliError } from '../exit.ts';
import { type Api, parsed, unreachable } from './client.ts';
import { serverSentEvents } from './server-sent-events.ts';
import type { SessionEvent } from './types.ts';

/** The `retry:` of the server. A restart takes seconds. */
const RECONNECT_MS = 2_000;
/** A restart of ingress takes seconds. After a minute without a connection the outage is not a restart. */
const MOST_FAILURES = 30;

/**
 * Yields the events of a session: first the stored ones, then live, until the session is settled. After a broken connection
 * it reconnects and continues after the last event.
 * @throws CliError as the API client does; the reason of `signal` after an abort
 */
export async function* followSession(
  api: Api,
  id: string,
  options: { readonly after?: number; readonly signal: AbortSignal; readonly forTerminal: boolean },
): AsyncGenerator<SessionEvent> {
  let last = options.after ?? 0;
  let failures = 0;
  for (;;) {
    try {
      const response = await api.open(
        `/v1/sessions/${encodeURIComponent(id)}/stream`,
        { accept: 'text/event-stream', ...(last === 0 ? {} : { 'last-event-id': String(last) }) },
        options.signal,
      );
      // Settled, and no event after the last one.
      if (response.status === 204) return;
      const before = last;
      for await (const { data } of serverSentEvents(response)) {
        if (data === null) continue;
        const event = parsed<SessionEvent>(data, api.baseUrl, options.forTerminal);
        last = event.version;
        failures = 0;
        yield event;
      }
      // The server ended the stream: the session is settled, or the server drains. The next request tells which.
      if (last === before) await pause(RECONNECT_MS, options.signal);
    } catch (error) {
      options.signal.throwIfAborted();
      const mayPass = !(error instanceof CliError) || isRetryable(error);
      // If the first request fails, there is nothing to reconnect to.
      if (!mayPass || (last === 0 && failures === 0 && error instanceof CliError)) throw error;
      failures += 1;
      if (failures > MOST_FAILURES) throw error instanceof CliError ? error : unreachable(api.baseUrl, error);
      await pause(RECONNECT_MS, options.signal);
    }
  }
}
