import { z } from 'zod';
import type { PlatformCall } from '../../platform.ts';
import { CallRefused, TooLong } from '../call-json.ts';
import { callMatrix } from './matrix-call.ts';
import type { Members } from './matrix-event.ts';

/** Bounds memory: about 100 bytes per member of a room. */
const MOST_ROOMS = 1_000;
/** Some 10,000 members. A larger room is not a conversation of two, and its names stay ids. */
const MOST_BYTES = 1024 * 1024;

const schema = z.object({
  joined: z.record(z.string(), z.object({ display_name: z.string().nullish() })),
});

const UNKNOWN: Members = { names: new Map(), direct: false };

/** Who is in a room, asked for once and again after somebody came or left. */
export class Rooms {
  readonly #known = new Map<string, Members>();
  readonly #context: PlatformCall;

  constructor(context: PlatformCall) {
    this.#context = context;
  }

  changed(room: string): void {
    this.#known.delete(room);
  }

  /** @throws Error if the homeserver cannot be asked now */
  async members(room: string): Promise<Members> {
    const known = this.#known.get(room);
    if (known !== undefined) return known;
    const members = await this.#ask(room);
    if (this.#known.size >= MOST_ROOMS) this.#known.clear();
    this.#known.set(room, members);
    return members;
  }

  async #ask(room: string): Promise<Members> {
    let answer: unknown;
    try {
      const path = `/rooms/${encodeURIComponent(room)}/joined_members`;
      answer = await callMatrix('GET', path, this.#context, { mostBytes: MOST_BYTES });
    } catch (error) {
      // We have left the room meanwhile.
      const isGone = error instanceof CallRefused && (error.status === 403 || error.status === 404);
      if (isGone || error instanceof TooLong) return UNKNOWN;
      throw error;
    }
    const parsed = schema.safeParse(answer);
    if (!parsed.success) return UNKNOWN;
    const joined = Object.entries(parsed.data.joined);
    return {
      names: new Map(joined.map(([id, { display_name: name }]): [string, string] => [id, name ?? ''])),
      direct: joined.length <= 2,
    };
  }
}
