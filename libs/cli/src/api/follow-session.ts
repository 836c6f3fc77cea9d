import { isRetryable } from '@angelia/contracts/errors';
import { pause } from '@angelia/waiting';
import { CliError } from '../exit.ts';
import { type Api, parsed, unreachable } from './client.ts';
import type { SessionEvent } from './types.ts';

/** As the server asks for in `retry:`: it drains for a restart and is back within seconds. */
const RECONNECT_MS = 2_000;
/** A restart of ingress takes seconds; after a minute without one connection somebody has to look. */
const MOST_FAILURES = 30;

/**
 * The events of a session, those that are stored first, then live, until the session is settled. A connection that breaks is
 * made again, and goes on right behind the last event that was seen.
 * @throws CliError as the API does; what `signal` was aborted with
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
      // Settled, and nothing after what was seen.
      if (response.status === 204) return;
      const before = last;
      for await (const data of messagesOf(response)) {
        const event = parsed<SessionEvent>(data, api.baseUrl, options.forTerminal);
        last = event.version;
        failures = 0;
        yield event;
      }
      // Ended by the server: settled, or it drains. The next request tells which.
      if (last === before) await pause(RECONNECT_MS, options.signal);
    } catch (error) {
      options.signal.throwIfAborted();
      const mayPass = !(error instanceof CliError) || isRetryable(error);
      // What was never there is no outage.
      if (!mayPass || (last === 0 && failures === 0 && error instanceof CliError)) throw error;
      failures += 1;
      if (failures > MOST_FAILURES) throw error instanceof CliError ? error : unreachable(api.baseUrl, error);
      await pause(RECONNECT_MS, options.signal);
    }
  }
}

/** The `data` of each server-sent event. */
export async function* messagesOf(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  const decoder = new TextDecoder();
  let unread = '';
  for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
    unread += decoder.decode(part, { stream: true });
    const messages = unread.split('\n\n');
    unread = messages.pop() ?? '';
    for (const message of messages) {
      const data = message
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice('data:'.length).replace(/^ /, ''));
      if (data.length > 0) yield data.join('\n');
    }
  }
}
