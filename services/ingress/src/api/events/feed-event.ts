import { isSessionId, SCHEMA_VERSION } from '@angelia/contracts';
import { cursorText, type TailCursor, type TailEvent } from '@angelia/event-log';
import { upcast } from '@angelia/sessions';
import { type EventJson, eventJson } from '../sessions/event-json.ts';

/** An event as it goes to every reader of the feed. */
export interface FeedEvent {
  readonly cursor: TailCursor;
  readonly streamId: string;
  readonly type: string;
  /** Of `session.created`. The route of other events is that of their stream (StreamRoutes). */
  readonly createdRoute: string | null;
  /** The whole message. It is made once, however many readers there are. */
  readonly text: string;
}

export interface FeedEventJson extends EventJson {
  readonly stream_id: string;
  /** Null: the event of a route, a key or a job. */
  readonly session_id: string | null;
}

export function feedEvent(event: TailEvent): FeedEvent {
  const session = isSessionId(event.streamId);
  // What only a newer version can read is passed on as it is. Nobody decides on it here.
  const readable = session && event.schemaVersion <= SCHEMA_VERSION ? upcast(event) : event;
  const json: FeedEventJson = {
    stream_id: event.streamId,
    session_id: session ? event.streamId : null,
    ...eventJson({ ...readable, data: withoutSecret(event.type, readable.data) }),
  };
  const { route } = (event.type === 'session.created' ? event.data : {}) as { route?: unknown };
  return {
    cursor: event.cursor,
    streamId: event.streamId,
    type: event.type,
    createdRoute: typeof route === 'string' ? route : null,
    // Without an `event:` field, so that `onmessage` of an EventSource gets every event. The type is in the data.
    text: `id: ${cursorText(event.cursor)}\ndata: ${JSON.stringify(json)}\n\n`,
  };
}

/** The secret of a route is encrypted, and still nobody's business. */
function withoutSecret(type: string, data: unknown): unknown {
  if (type !== 'route.defined') return data;
  const { secret: _, ...rest } = data as { readonly secret?: unknown };
  return rest;
}
