import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { ADMIN_TOKEN, type TestIngress } from './ingress.ts';

interface SeenEvent {
  /** A version, or a place in the feed of all events. */
  readonly id: string;
  readonly type: string;
  readonly version: number;
  /** Only in the feed of all events. */
  readonly session: string | null;
  /** performance.now() */
  readonly at: number;
}

/** A client for server-sent events that shows what an EventSource hides and tests need. */
export interface EventSource {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly events: readonly SeenEvent[];
  /** Everything as received. */
  readonly text: () => string;
  readonly ended: () => boolean;
  /** The id of the last message, also of one without data. */
  readonly lastId: () => string;
  /** Stops reading without closing the connection. */
  pause(): void;
  resume(): void;
  hangUp(): void;
}

/** The stream of a session. */
export function openEventSource(
  ingress: TestIngress,
  id: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<EventSource> {
  return openEvents(ingress, `/v1/sessions/${id}/stream`, headers);
}

export function openEvents(
  ingress: TestIngress,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<EventSource> {
  return new Promise((resolve, reject) => {
    const request = get(
      new URL(path, ingress.baseUrl),
      { headers: { authorization: `Bearer ${ADMIN_TOKEN}`, ...headers }, agent: false },
      (response: IncomingMessage) => {
        const events: SeenEvent[] = [];
        let text = '';
        let unread = '';
        let ended = false;
        let lastId = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
          const messages = (unread + part).split('\n\n');
          unread = messages.pop() ?? '';
          for (const message of messages) {
            const fields = new Map(
              message.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]),
            );
            lastId = fields.get('id') ?? lastId;
            const data = fields.get('data');
            if (data === undefined) continue;
            const {
              type,
              version,
              session_id: session,
            } = JSON.parse(data) as {
              type: string;
              version: number;
              session_id?: string | null;
            };
            events.push({ id: lastId, type, version, session: session ?? null, at: performance.now() });
          }
        });
        response.on('end', () => {
          ended = true;
        });
        response.on('error', () => {});
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          events,
          text: () => text,
          ended: () => ended,
          lastId: () => lastId,
          pause: () => response.pause(),
          resume: () => response.resume(),
          hangUp: () => request.destroy(),
        });
      },
    );
    request.on('error', reject);
  });
}
