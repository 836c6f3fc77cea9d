import { z } from 'zod';
import type { ConnectionContext } from '../../platform.ts';
import { callMatrix } from './matrix-call.ts';
import { EVENT_TYPES, type RoomEvent, roomEvents } from './sync-answer.ts';

interface Gap {
  readonly room: string;
  /** The end of the gap: `prev_batch` of the timeline. */
  readonly from: string;
  /** Its beginning: where the sync before had come. */
  readonly to: string;
}

const PAGE = 100;
/** Per room and sync. Nobody still waits for answers to more than that. */
const MOST_PAGES = 20;
const pageSchema = z.object({ chunk: roomEvents, end: z.string().optional() });
const FILTER = JSON.stringify({ types: EVENT_TYPES });

/**
 * A timeline is `limited` if more happened than one answer holds: after an outage of ours, or in a busy room. The server keeps
 * what lies between.
 */
export async function fetchGap({ room, from, to }: Gap, context: ConnectionContext): Promise<RoomEvent[]> {
  const newestFirst: RoomEvent[] = [];
  let at = from;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const query = new URLSearchParams({ dir: 'b', from: at, to, limit: String(PAGE), filter: FILTER });
    const path = `/rooms/${encodeURIComponent(room)}/messages?${query}`;
    const { chunk, end } = pageSchema.parse(await callMatrix('GET', path, context));
    newestFirst.push(...chunk);
    if (end === undefined || end === at || end === to) return newestFirst.reverse();
    at = end;
  }
  context.tell(
    `more than ${MOST_PAGES * PAGE} events of room ${room} were missed: the oldest of them are not taken`,
  );
  return newestFirst.reverse();
}
