import { z } from 'zod';

/**
 * Every fact that a session's stream can hold. Names and meanings are public (INTERFACES.md): add, never change.
 * Times inside data are ISO strings; `recorded_at` of the envelope is the database's clock.
 * `generation` is the run that appended the event: `decide` refuses an older one (invariant single-owner).
 */

const isoTime = z.iso.datetime({ offset: true });
const count = z.number().int().nonnegative();
const ordinal = z.number().int().positive();
const target = z.object({
  /** Name of the target adapter, as under `targets` in the config. Credentials stay there (by reference). */
  target: z.string().min(1),
  /** Where at the target: chat_id, url, repo and so on, already rendered. */
  to: z.record(z.string(), z.unknown()),
  /** Whether an address in `to` came from a payload, a template or an API route: then it must not be private. */
  untrusted_address: z.boolean().default(false),
  /** Whether even its host came from there: then no credential of the target's goes with it. Absent in older events: no. */
  untrusted_host: z.boolean().optional(),
  /**
   * Where `${NAME}` in `to` is the operator's, of the config file: it stands for an environment variable, which is read when
   * it is sent. By place and not by its look, since a payload may hold the same characters. Absent: there is none.
   */
  references: z
    .array(
      z.object({
        /** Of the text in `to`. */
        path: z.array(z.string()),
        /** Where in the text `${NAME}` begins, in UTF-16 units. */
        at: count,
        name: z.string().min(1),
      }),
    )
    .optional(),
});
const usage = z.object({ input_tokens: count, output_tokens: count });
export const outcomes = ['succeeded', 'failed', 'cancelled', 'expired'] as const;
const outcome = z.enum(outcomes);

const toolCall = z.object({ id: z.string(), name: z.string(), arguments: z.string() });

const sessionCreated = z.object({
  route: z.string(),
  event: z.string().nullable(),
  delivery_id: z.string(),
  title: z.string(),
  agent: z.string(),
  /** null: the agent's own toolsets. */
  toolsets: z.array(z.string()).nullable().default(null),
  /** Names of the texts that are added to the agent's instructions. */
  skills: z.array(z.string()).default([]),
  deliver: target,
  fallback_target: target.nullable().default(null),
  interim: z.enum(['message', 'edit', 'off']).default('message'),
  /** The rendered prompt is the answer; no agent works on it. */
  deliver_only: z.boolean().default(false),
  session_key: z.string().nullable().default(null),
  continues: z.string().nullable().default(null),
  /** Coalescing: no run before this time. */
  start_after: isoTime.nullable().default(null),
  /** From the route's max_queue_seconds: a turn not started by then expires. */
  queue_deadline: isoTime.nullable().default(null),
  /** Of the route: so many runs of it at once, by all runners together. null: no limit. */
  max_concurrency: ordinal.nullable().default(null),
  /** True: by a route that was made by API, for which the config's `api_routes` holds. */
  api_route: z.boolean().optional(),
  /** Random: what the marks of the fences around foreign text in its prompts are made of. Absent in older events: none. */
  fence_seed: z.string().min(1).optional(),
});

/** One row of what the model sees. */
const transcriptMessage = z.object({
  role: z.enum(['user', 'assistant', 'tool']),
  content: z.string(),
  tool_calls: z.array(toolCall).optional(),
  tool_call_id: z.string().optional(),
});

const turnRequested = z.object({
  turn: ordinal,
  source: z.enum(['webhook', 'message', 'process', 'resume']),
  input: z.string(),
  /** Set for a process notice: which process, and what about it. */
  notice: z
    .object({ process_id: z.string(), kind: z.enum(['exited', 'matched', 'lost', 'overload']) })
    .nullable()
    .default(null),
  delivery_id: z.string().nullable().default(null),
  /** No run before this time. For turn 1 null means: as `session.created` says. */
  start_after: isoTime.nullable().default(null),
  /** Not started by then: it expires. For turn 1 null means: as `session.created` says. */
  queue_deadline: isoTime.nullable().default(null),
  /** A continuation's first turn carries the old transcript, so that its own stream is enough to go on. */
  history: z.array(transcriptMessage).default([]),
});

const runStarted = z.object({
  generation: ordinal,
  turn: ordinal,
  runner: z.string(),
  /** True when an earlier run of this turn was lost or interrupted: told to the model when the prompt is rendered. */
  resumed: z.boolean(),
  /** The n-th attempt since the turn last made progress. */
  attempt: ordinal,
});

const modelResponded = z.object({
  generation: ordinal,
  turn: ordinal,
  step: ordinal,
  /** Name of the model in the config. */
  model: z.string(),
  text: z.string(),
  tool_calls: z.array(toolCall).default([]),
  finish_reason: z.string(),
  usage,
});

/** For the model, from here on, a summary stands in place of what came before; the log keeps all of it. */
const contextCompressed = z.object({
  generation: ordinal,
  turn: ordinal,
  /** The n-th of this run: tells a repeated command from a second one. */
  sequence: ordinal.default(1),
  /** Of this turn the steps up to this version are replaced, of what is before it everything. */
  through_version: count,
  summary: z.string(),
  /** Takes the place of the turn's input, when that alone is too long for the model. null: as it was given. */
  input: z.string().nullable().default(null),
  /** Name in the config of the model that made the summary, and what that took. */
  model: z.string(),
  usage,
});

const toolStarted = z.object({
  generation: ordinal,
  turn: ordinal,
  call_id: z.string(),
  tool: z.string(),
  arguments: z.string(),
  /** The process whose end this call waits for: while it is open, that end is no notice. */
  waits_for: z.string().nullable().default(null),
});

const toolFinished = z.object({
  turn: ordinal,
  call_id: z.string(),
  tool: z.string(),
  outcome: z.enum(['ok', 'error', 'unknown']),
  result: z.string(),
  /** The process-watcher that carried it out: the session's files are there, and so are its further commands. */
  watcher: z.string().nullable().default(null),
});

const webhookCoalesced = z.object({
  delivery_id: z.string(),
  turn: ordinal,
  input: z.string(),
  start_after: isoTime,
  /** Moves along with start_after: time in the window is no time in the queue. null: as it was. */
  queue_deadline: isoTime.nullable().default(null),
  /** The superseding POST's own trace: linked, not joined (one-trace). */
  traceparent: z.string().nullable().default(null),
});

const interimStatus = z.object({
  generation: ordinal,
  turn: ordinal,
  /** The n-th status of this run: tells a repeated command from a second status with the same text. */
  sequence: ordinal.default(1),
  kind: z.enum(['fallback', 'compression', 'progress', 'agent']),
  text: z.string(),
});

const clarificationRequested = z.object({
  generation: ordinal,
  turn: ordinal,
  clarification_id: z.string(),
  call_id: z.string(),
  question: z.string(),
  choices: z.array(z.string()).default([]),
  deadline: isoTime,
  on_timeout: z.enum(['end', 'continue']),
});

const clarificationAnswered = z.object({
  clarification_id: z.string(),
  answer: z.string(),
  by: z.enum(['api', 'link']),
});

const clarificationTimedOut = z.object({ clarification_id: z.string() });

/** Its turn is cancelled by the next event: somebody asked for something else instead of answering. */
const clarificationSuperseded = z.object({ clarification_id: z.string() });

const finalResponse = z.object({
  /** null: appended by no run (deliver_only, expiry of a turn that no runner holds). */
  generation: ordinal.nullable(),
  turn: ordinal,
  text: z.string(),
  outcome,
  /** Kept in the transcript, not delivered: an empty or [SILENT] answer. A failure is never silent. */
  silent: z.boolean(),
});

const runFailed = z.object({
  generation: ordinal.nullable(),
  turn: ordinal,
  /** Stable code, e.g. `models_failed`, `timeout`, `max_steps`, `budget`, `stale`, `attempts`, `agent_missing`. */
  code: z.string(),
  /** For the operator; no secrets. The user reads the final response. */
  message: z.string(),
});

const runCancelled = z.object({ generation: ordinal.nullable(), turn: ordinal.nullable(), by: z.string() });

const runInterrupted = z.object({
  generation: ordinal,
  turn: ordinal,
  /** `drain`: the runner was told to stop. `infrastructure`: Postgres or NATS was away; not counted as an attempt. */
  reason: z.enum(['drain', 'infrastructure']),
  /** For so long before this was recorded nobody was at work: while Postgres is away it cannot be said that it is. */
  silent_seconds: z.number().nonnegative().default(0),
});

/** `output` is the version of the interim status, clarification or final response in this stream. */
const deliveryAttempted = z.object({
  output: ordinal,
  attempt: ordinal,
  target: z.string(),
  via: z.enum(['target', 'fallback_target']).default('target'),
  sender: z.string(),
  /** The claim holds for this long after recorded_at; past it the outcome is unknown, not failed. */
  deadline_seconds: z.number().positive(),
  possible_duplicate: z.boolean().default(false),
});

const deliverySucceeded = z.object({
  output: ordinal,
  attempt: ordinal,
  /** What the platform called the message, where it says so. */
  receipt: z.string().nullable().default(null),
});

/** One of the messages that a long output is cut into was taken; `delivery.succeeded` stands for the last of them. */
const deliveryChunkTaken = z.object({
  output: ordinal,
  attempt: ordinal,
  /** 1 is the first. */
  chunk: ordinal,
  chunks: ordinal,
  receipt: z.string().nullable().default(null),
  /** The claim holds for this long after recorded_at: each chunk renews it. */
  deadline_seconds: z.number().positive(),
});

const deliveryFailed = z.object({
  output: ordinal,
  attempt: ordinal,
  reason: z.string(),
  retry_at: isoTime,
  /** False for a flood wait: honoured without spending an attempt of the schedule. */
  counts: z.boolean().default(true),
  /** The request went out and no answer came: the platform may have it, and the next attempt says so. */
  unknown: z.boolean().default(false),
});

const deliveryDead = z.object({ output: ordinal, attempt: count, reason: z.string() });
const deliveryDropped = z.object({ output: ordinal, reason: z.string() });
const deliveryRetryRequested = z.object({ output: ordinal, by: z.string() });

const processStarted = z.object({
  process_id: z.string(),
  generation: ordinal,
  turn: ordinal,
  call_id: z.string(),
  /** Secrets redacted. */
  command: z.string(),
  host: z.string(),
  boot_id: z.string(),
  pid: z.number().int().positive(),
  /** Start time of the pid in clock ticks since boot: tells a reused pid apart. */
  pid_start_time: z.string(),
  cwd: z.string(),
  notify_on_complete: z.boolean().default(false),
  watch_patterns: z.array(z.string()).default([]),
  /** The session stops waiting for this process then. */
  wait_deadline: isoTime.nullable().default(null),
  /** The instance of process-watcher that started it. */
  watcher: z.string().nullable().default(null),
});

const processMatched = z.object({
  process_id: z.string(),
  /** The n-th recorded match of this process: the same match reported twice is one. */
  match: ordinal.default(1),
  pattern: z.string(),
  line: z.string(),
  /** The watch was switched off because it matched too often. */
  overload: z.boolean().default(false),
});

const processExited = z.object({
  process_id: z.string(),
  exit_code: z.number().int().nullable(),
  signal: z.string().nullable(),
  duration_seconds: z.number().nonnegative(),
  output_tail: z.string(),
  /** Set when we ended it: at which limit, or at whose request. */
  reason: z.string().nullable().default(null),
});

const processLost = z.object({
  process_id: z.string(),
  reason: z.string(),
  output_tail: z.string().default(''),
});
/** By the API: the watcher ends it. How it ended is told by `process.exited`, and its session hears of it. */
const processKillRequested = z.object({ process_id: z.string(), by: z.string() });
const processCompletionConsumed = z.object({ process_id: z.string(), by: z.enum(['wait', 'log', 'kill']) });

const sessionEnded = z.object({
  outcome,
  reason: z.string(),
  detail: z.string().nullable().default(null),
});

export const eventSchemas = {
  'session.created': sessionCreated,
  'turn.requested': turnRequested,
  'run.started': runStarted,
  'model.responded': modelResponded,
  'context.compressed': contextCompressed,
  'tool.started': toolStarted,
  'tool.finished': toolFinished,
  'webhook.coalesced': webhookCoalesced,
  'session.interim-status': interimStatus,
  'clarification.requested': clarificationRequested,
  'clarification.answered': clarificationAnswered,
  'clarification.timed-out': clarificationTimedOut,
  'clarification.superseded': clarificationSuperseded,
  'session.final-response': finalResponse,
  'run.failed': runFailed,
  'run.cancelled': runCancelled,
  'run.interrupted': runInterrupted,
  'delivery.attempted': deliveryAttempted,
  'delivery.chunk-taken': deliveryChunkTaken,
  'delivery.succeeded': deliverySucceeded,
  'delivery.failed': deliveryFailed,
  'delivery.dead': deliveryDead,
  'delivery.dropped': deliveryDropped,
  'delivery.retry-requested': deliveryRetryRequested,
  'process.started': processStarted,
  'process.matched': processMatched,
  'process.exited': processExited,
  'process.lost': processLost,
  'process.completion-consumed': processCompletionConsumed,
  'process.kill-requested': processKillRequested,
  'session.ended': sessionEnded,
} as const;

export type EventType = keyof typeof eventSchemas;
export type EventData<T extends EventType> = z.infer<(typeof eventSchemas)[T]>;
/** What may be left out when an event is written: defaults are filled by the domain, not by the reader alone. */
export type Outcome = z.infer<typeof outcome>;
export type DeliveryTarget = z.infer<typeof target>;
export type TranscriptMessage = z.infer<typeof transcriptMessage>;
export type ToolCall = z.infer<typeof toolCall>;

/** A session event as the domain sees it: type and data belong together. */
export type SessionFact = { [T in EventType]: { readonly type: T; readonly data: EventData<T> } }[EventType];

/**
 * The stream of a key (`key-...`) says which session is the current one under it: for webhooks that are coalesced, for
 * `session_key`, and for the continuation of an ended session. Its version is the lock under which replicas agree.
 */
export const keyEventSchemas = {
  'key.session-opened': z.object({ session_id: z.string() }),
} as const;
export type KeyEventData<T extends keyof typeof keyEventSchemas> = z.infer<(typeof keyEventSchemas)[T]>;

export const eventTypes = Object.keys(eventSchemas) as EventType[];

/** The current version of every event type's data. Older ones are upcast on read. */
export const SCHEMA_VERSION = 1;

export function isEventType(type: string): type is EventType {
  return Object.hasOwn(eventSchemas, type);
}

/** The outputs of a session: what is delivered, in log order. */
export const outputTypes = [
  'session.interim-status',
  'clarification.requested',
  'session.final-response',
] as const satisfies readonly EventType[];
