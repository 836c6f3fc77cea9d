import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { ADMIN_TOKEN, type TestIngress } from './ingress.ts';

interface SeenEvent {
  readonly id: number;
  readonly type: string;
  readonly version: number;
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
  /** Stops reading without closing the connection. */
  pause(): void;
  hangUp(): void;
}

export function openEventSource(
  ingress: TestIngress,
  id: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<EventSource> {
  return new Promise((resolve, reject) => {
    const request = get(
      new URL(`/v1/sessions/${id}/stream`, ingress.baseUrl),
      { headers: { authorization: `Bearer ${ADMIN_TOKEN}`, ...headers }, agent: false },
      (response: IncomingMessage) => {
        const events: SeenEvent[] = [];
        let text = '';
        let unread = '';
        let ended = false;
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
          const messages = (unread + part).split('\n\n');
          unread = messages.pop() ?? '';
          for (const message of messages) {
            const fields = new Map(
              message.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]),
            );
            const data = fields.get('data');
            if (data === undefined) continue;
            const { type, version } = JSON.parse(data) as { type: string; version: number };
            events.push({ id: Number(fields.get('id')), type, version, at: performance.now() });
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
          pause: () => response.pause(),
          hangUp: () => request.destroy(),
        });
      },
    );
    request.on('error', reject);
  });
}
