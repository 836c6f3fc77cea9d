import { z } from 'zod';
import type { ChatEventType } from './events/chat-events.ts';
import type { JobEventType } from './events/job-events.ts';
import type { RouteEventType } from './events/route-events.ts';
import type { EventType, keyEventSchemas } from './events/session-events.ts';

/** The JetStream stream that carries all hints. */
export const STREAM_NAME = 'ANGELIA_EVENTS';
export const STREAM_SUBJECTS = ['angelia.evt.>'];

/** Core NATS (not JetStream): sent after a commit, so that the relay reads the tail at once. */
export const TAIL_PING_SUBJECT = 'angelia.tail';

/** Core NATS: somebody asked for a reload of the config. Each service looks at its own file; nothing depends on it. */
export const CONFIG_PING_SUBJECT = 'angelia.config';

/**
 * `angelia.evt.<category>.<type>.<stream id>`: an event type is already `<category>.<type>`. Besides the event types there
 * are three hints from timers and the sweep. They name the service whose work is due.
 */
export const ownerHints = ['hint.run', 'hint.delivery', 'hint.process'] as const;
export type Owner = 'run' | 'delivery' | 'process';

/**
 * Facts that nobody waits for: only the service that appended them goes on from there. They are not published, which
 * halves the work of the bus per session (measured: five of eight events are such).
 */
export const unhintedTypes: readonly string[] = [
  'run.started',
  'model.responded',
  // The run that waits for it learns of the commit itself (agent-runner).
  'tool.finished',
  'context.compressed',
  // It says something about a turn whose own event has a hint.
  'webhook.placeholder-missing',
  // Nothing happens before `retry_at`, when the agenda hints a runner.
  'run.put-off',
  // The turn that replaces it is in the same append and has a hint.
  'clarification.superseded',
  'delivery.attempted',
  'delivery.chunk-taken',
  'delivery.succeeded',
  'delivery.updated',
  // Nothing happens before `retry_at`, when the agenda hints delivery.
  'delivery.update-failed',
  'key.session-opened',
  'key.chat-offset',
  'pairing.offered',
  'pairing.accepted',
  'pairing.revoked',
  // Every replica must learn of these, but a durable consumer tells only one. They have a ping of their own.
  'route.defined',
  'route.deleted',
  'routes.changed',
  // The leader of the jobs looks for them, and has a ping of its own.
  'job.requested',
  'job.progressed',
  'job.cancel-requested',
  'job.cancelled',
  'job.finished',
] satisfies (EventType | RouteEventType | JobEventType | ChatEventType | keyof typeof keyEventSchemas)[];

/** The first turn of a session is in the same append as its creation (version 1), whose hint is enough. */
export const FIRST_TURN_VERSION = 2;

/**
 * The events whose hints a service consumes. Whoever commits one publishes its hint at once. The relay publishes the hints
 * of other events, for whoever else listens on the bus.
 */
export const awaitedTypes: readonly string[] = [
  'session.created',
  'turn.requested',
  'run.interrupted',
  'clarification.requested',
  'clarification.answered',
  'clarification.timed-out',
  'approval.requested',
  'approval.decided',
  'approval.expired',
  'session.interim-status',
  'session.final-response',
  'delivery.retry-requested',
  'tool.started',
  'process.kill-requested',
] satisfies EventType[];
const awaited = new Set(awaitedTypes);

/** Whether some service waits for this event. */
export function isAwaited(type: string, version: number): boolean {
  return awaited.has(type) && !(type === 'turn.requested' && version <= FIRST_TURN_VERSION);
}

export function subjectOf(type: string, streamId: string): string {
  return `angelia.evt.${type}.${streamId}`;
}

/** The events of one type in all streams: the filter of a consumer. */
export function subjectFilter(type: string): string {
  return `angelia.evt.${type}.*`;
}

/** Core NATS: makes a cancel take effect at once on the replica that runs the session. The event is authoritative. */
export function cancelSubject(streamId: string): string {
  return `angelia.cancel.${streamId}`;
}

/** Core NATS: a run started whose answer goes to a chat. delivery shows there that somebody is typing; nothing depends on it. */
export function typingSubject(streamId: string): string {
  return `angelia.typing.${streamId}`;
}

/** Core NATS: makes watchers remove the files of an erased session at once. The log is authoritative. */
export function erasedSubject(streamId: string): string {
  return `angelia.erased.${streamId}`;
}

/** Core NATS, among watchers: sent when a hint reaches a watcher that does not have the session's files. */
export function watchPingSubject(streamId: string): string {
  return `angelia.watch.${streamId}`;
}

/** Core NATS request: asks for part of the output of a process. The watcher on its host answers. */
export const OUTPUT_SUBJECT = 'angelia.output';

/** Core NATS request: asks for a part of a file in a session's directory. The watcher that has the directory answers. */
export const FILE_SUBJECT = 'angelia.file';

/** A message on the bus: "look at this stream". It never has event data: personal data is in one store only. */
export const hintSchema = z.object({
  stream_id: z.string(),
  /** 0 for hints from timers and the sweep. */
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
  /** Offset of the first byte that is still kept. */
  kept_from: z.number().int().nonnegative(),
  /** There is no more output so far. */
  at_end: z.boolean(),
});
export type OutputAnswer = z.infer<typeof outputAnswerSchema>;

export const fileRequestSchema = z.object({
  session_id: z.string(),
  /** The process-watcher that has the session's directory. No other one answers. */
  watcher: z.string(),
  /** Below the session's directory. */
  path: z.string(),
  offset: z.number().int().nonnegative(),
  limit: z.number().int().positive(),
});
export type FileRequest = z.infer<typeof fileRequestSchema>;

export const fileAnswerSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('part'),
    /** In Base64. */
    data: z.string(),
    /** Of the whole file. */
    size: z.number().int().nonnegative(),
    /** The same for all parts of a file that nobody changed meanwhile. */
    version: z.string(),
  }),
  z.object({
    kind: z.literal('refused'),
    /** For people; it follows `was not sent: `. */
    why: z.string(),
  }),
]);
export type FileAnswer = z.infer<typeof fileAnswerSchema>;
