import { z } from 'zod';
import type { EventType, keyEventSchemas } from './events.ts';
import type { RouteEventType } from './route-events.ts';

/** The JetStream stream that carries all hints. */
export const STREAM_NAME = 'ANGELIA_EVENTS';
export const STREAM_SUBJECTS = ['angelia.evt.>'];

/** Core NATS (not JetStream): sent after a commit so that the relay reads the tail at once. */
export const TAIL_PING_SUBJECT = 'angelia.tail';

/**
 * `angelia.evt.<category>.<type>.<stream id>`: an event type is already `<category>.<type>`.
 * Besides event types there are three hints from timers and sweep that name the owner of what is due.
 */
export const ownerHints = ['hint.run', 'hint.delivery', 'hint.process'] as const;
export type OwnerHint = (typeof ownerHints)[number];
export type Owner = 'run' | 'delivery' | 'process';

/**
 * Facts that nobody waits for: only whoever appended them goes on from there. They stay off the bus, which halves
 * its work per session (measured: of eight events five are such).
 */
export const unhintedTypes: readonly string[] = [
  'run.started',
  'model.responded',
  // The run that waits for it hears of the commit itself (agent-runner, stream-follower.ts).
  'tool.finished',
  'context.compressed',
  // The turn that takes its place is in the same append, and has its hint.
  'clarification.superseded',
  'delivery.attempted',
  'delivery.chunk-taken',
  'delivery.succeeded',
  'key.session-opened',
  // Every replica must hear of these, and a durable consumer tells one: they have a ping of their own.
  'route.defined',
  'route.deleted',
  'routes.changed',
] satisfies (EventType | RouteEventType | keyof typeof keyEventSchemas)[];

/** A session's first turn is in the same append as its creation (version 1), and that hint says enough. */
export const FIRST_TURN_VERSION = 2;

export function subjectOf(type: string, streamId: string): string {
  return `angelia.evt.${type}.${streamId}`;
}

/** All streams' events of one type: what a consumer filters by. */
export function subjectFilter(type: string): string {
  return `angelia.evt.${type}.*`;
}

/** Core NATS: cancel acts at once on whichever replica runs the session; the event is what counts. */
export function cancelSubject(streamId: string): string {
  return `angelia.cancel.${streamId}`;
}

/** Core NATS: watchers remove what they have of an erased session at once; that the log does not know it is what counts. */
export function erasedSubject(streamId: string): string {
  return `angelia.erased.${streamId}`;
}

/** Core NATS, among watchers: a hint came to one that does not have the session's files. */
export function watchPingSubject(streamId: string): string {
  return `angelia.watch.${streamId}`;
}

/** Core NATS, a request: part of a process's output, from the watcher on whose host it is. */
export const OUTPUT_SUBJECT = 'angelia.output';

/** A message on the bus: "look at this stream". Never any event data: personal data lives in one store only. */
export const hintSchema = z.object({
  stream_id: z.string(),
  /** 0 for hints of timers and sweep. */
  version: z.number().int().nonnegative(),
  type: z.string(),
  traceparent: z.string().optional(),
});
export type Hint = z.infer<typeof hintSchema>;

export const outputRequestSchema = z.object({
  session_id: z.string(),
  process_id: z.string(),
  /** Null: the last `limit` bytes. */
  offset: z.number().int().nonnegative().nullable(),
  limit: z.number().int().positive(),
});
export type OutputRequest = z.infer<typeof outputRequestSchema>;

export const outputAnswerSchema = z.object({
  output: z.string(),
  offset: z.number().int().nonnegative(),
  next_offset: z.number().int().nonnegative(),
  /** The first byte that is still kept. */
  kept_from: z.number().int().nonnegative(),
  /** Nothing more was printed so far. */
  at_end: z.boolean(),
});
export type OutputAnswer = z.infer<typeof outputAnswerSchema>;
