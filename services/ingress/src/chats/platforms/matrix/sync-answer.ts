import { z } from 'zod';

/** Everything else (reactions, redactions, presence, receipts) is not sent at all. */
export const EVENT_TYPES = ['m.room.message', 'm.room.encrypted', 'm.room.member'] as const;
const roomEvent = z.looseObject({ event_id: z.string(), type: z.string(), sender: z.string() });
export type RoomEvent = z.infer<typeof roomEvent>;
/** Anything that is not an event is left out. */
export const roomEvents = z.array(z.unknown()).transform((events) =>
  events.flatMap((event) => {
    const parsed = roomEvent.safeParse(event);
    return parsed.success ? [parsed.data] : [];
  }),
);
const joinedRoom = z.object({
  timeline: z
    .object({
      events: roomEvents.default([]),
      limited: z.boolean().default(false),
      prev_batch: z.string().optional(),
    })
    .default({ events: [], limited: false }),
  state: z.object({ events: z.array(z.unknown()).default([]) }).default({ events: [] }),
});
const invitedRoom = z.object({
  invite_state: z.object({ events: z.array(z.unknown()).default([]) }).default({ events: [] }),
});
const syncSchema = z.object({
  next_batch: z.string(),
  rooms: z
    .object({
      join: z.record(z.string(), joinedRoom).default({}),
      invite: z.record(z.string(), invitedRoom).default({}),
    })
    .default({ join: {}, invite: {} }),
});
export type Synced = z.infer<typeof syncSchema>;
export type JoinedRoom = z.infer<typeof joinedRoom>;

/** @throws ZodError: it is not an answer to a sync */
export function readSync(answer: unknown): Synced {
  return syncSchema.parse(answer);
}
