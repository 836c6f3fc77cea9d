import { z } from 'zod';
import { imageSchema } from './images.ts';
import { receivedFileSchema } from './received-files.ts';

/**
 * Every fact that the stream of a session can hold. Names and meanings are public (INTERFACES.md): add, never change.
 * Times inside data are ISO strings. `recorded_at` of the envelope is the database's clock.
 * `generation` names the run that appended the event. `decide` refuses an older one (invariant single-owner).
 */

const isoTime = z.iso.datetime({ offset: true });
const count = z.number().int().nonnegative();
const ordinal = z.number().int().positive();
const target = z.object({
  /** Name of the target, as under `targets` in the config. Credentials stay there and are not copied. */
  target: z.string().min(1),
  /** The address at the target: chat_id, url, repo and so on, already rendered. */
  to: z.record(z.string(), z.unknown()),
  /** An address in `to` came from a payload, a template or an API route, so it must not be private. */
  untrusted_address: z.boolean().default(false),
  /** Even the host came from there, so no credential of the target is sent with it. Missing in older events: false. */
  untrusted_host: z.boolean().optional(),
  /**
   * The places where the operator wrote `${NAME}` in the config file. Each stands for an environment variable, which is read
   * when the message is sent. They are recorded by place, because a payload may contain the same characters. Missing: none.
   */
  references: z
    .array(
      z.object({
        /** Path of the text in `to`. */
        path: z.array(z.string()),
        /** Where `${NAME}` begins in the text, in UTF-16 units. */
        at: count,
        name: z.string().min(1),
      }),
    )
    .optional(),
});
const usage = z.object({ input_tokens: count, output_tokens: count });
const outcome = z.enum(['succeeded', 'failed', 'cancelled', 'expired']);

/** One rule of a tool policy (config/tools.ts). The first that matches decides about a call. */
const toolRule = z.object({
  tool: z.string(),
  match: z.string().optional(),
  do: z.enum(['allow', 'ask', 'deny']),
});

const toolCall = z.object({ id: z.string(), name: z.string(), arguments: z.string() });

const sessionCreated = z.object({
  route: z.string(),
  event: z.string().nullable(),
  delivery_id: z.string(),
  title: z.string(),
  agent: z.string(),
  /** null: the toolsets of the agent. */
  toolsets: z.array(z.string()).nullable().default(null),
  /** Names of texts that are added to the agent's instructions. */
  skills: z.array(z.string()).default([]),
  deliver: target,
  fallback_target: target.nullable().default(null),
  interim: z.enum(['message', 'edit', 'off']).default('message'),
  /** The rendered prompt is the answer. No agent works on it. */
  deliver_only: z.boolean().default(false),
  session_key: z.string().nullable().default(null),
  /** For the answer to a command in a chat (`deliver_only`): the session that it is about. A reply to it goes there. */
  about: z.string().optional(),
  continues: z.string().nullable().default(null),
  /** For a continuation: the first session of the conversation, whose directory and user its commands keep. */
  conversation_id: z.string().min(1).optional(),
  /** For a continuation: the process-watcher that has the files of the conversation. */
  watcher: z.string().min(1).optional(),
  /** Coalescing: no run before this time. */
  start_after: isoTime.nullable().default(null),
  /** From the route's max_queue_seconds: a turn that has not started by then expires. */
  queue_deadline: isoTime.nullable().default(null),
  /** Most runs of the route at the same time, over all runners. null: no limit. */
  max_concurrency: ordinal.nullable().default(null),
  /** True: the route was made through the API, so `api_routes` of the config applies. */
  api_route: z.boolean().optional(),
  /** Random seed of the marks around untrusted text in prompts. Missing in older events: no marks. */
  fence_seed: z.string().min(1).optional(),
  /** What its tools may do without asking: the rules of the route, then those of the agent. Missing: whatever is granted. */
  tools: z
    .object({
      policy: z.array(toolRule),
      approvers: z.array(z.string()),
      approval_expires_seconds: z.number().positive(),
    })
    .optional(),
  /** Files of the session's directory that a final response names are delivered with it. Missing: none are. */
  deliver_files: z.object({ max_bytes: count, types: z.array(z.string()) }).optional(),
});

/** One row of the conversation that the model sees. */
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
  /** Set for a notice about a process. */
  notice: z
    .object({ process_id: z.string(), kind: z.enum(['exited', 'matched', 'lost', 'overload']) })
    .nullable()
    .default(null),
  delivery_id: z.string().nullable().default(null),
  /** No run before this time. For turn 1, null means the value of `session.created`. */
  start_after: isoTime.nullable().default(null),
  /** The turn expires if it has not started by then. For turn 1, null means the value of `session.created`. */
  queue_deadline: isoTime.nullable().default(null),
  /** The first turn of a continuation carries the old transcript, so that its own stream is enough to go on. */
  history: z.array(transcriptMessage).default([]),
  /** Images of the message, for models that take them. `input` names them. Missing: none. */
  images: z.array(imageSchema).optional(),
  /** Files of the message, for commands. `input` names their paths. Missing: none. */
  files: z.array(receivedFileSchema).optional(),
});

const runStarted = z.object({
  generation: ordinal,
  turn: ordinal,
  runner: z.string(),
  /** True if an earlier run of this turn was lost or interrupted. The prompt then tells the model. */
  resumed: z.boolean(),
  /** Number of the attempt since the last progress of the turn. */
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
  /**
   * What the provider wants back with the next step (thoughts and their signatures). Only the model `of` gets it, as it came.
   * The API does not show it, and an export has it only if asked (shown-data.ts). Missing: nothing.
   */
  reasoning: z.object({ of: z.string(), data: z.string() }).optional(),
  /** True: the answer was cut at the model's limit of output, and the next step goes on where it was cut. */
  to_be_continued: z.boolean().optional(),
  /** How long it took to get the answer, with repeated calls and other models that failed. The runner's clock measured it. */
  duration_ms: count.optional(),
});

/** From here on the model sees a summary in place of what came before. The log keeps everything. */
const contextCompressed = z.object({
  generation: ordinal,
  turn: ordinal,
  /** Number of the compression within this run. Tells a repeated command from a second compression. */
  sequence: ordinal.default(1),
  /** The summary replaces the steps of this turn up to this version, and everything before the turn. */
  through_version: count,
  summary: z.string(),
  /** Replaces the input of the turn if that alone is too long for the model. null: the input stays. */
  input: z.string().nullable().default(null),
  /** Config name of the model that wrote the summary, and its usage. */
  model: z.string(),
  usage,
});

const toolStarted = z.object({
  generation: ordinal,
  turn: ordinal,
  call_id: z.string(),
  tool: z.string(),
  arguments: z.string(),
  /** The process whose end this call waits for. While the call is open, the end becomes no notice. */
  waits_for: z.string().nullable().default(null),
  /** The approval that lets it run, and the digest of the arguments that it is for. Missing: it needed none. */
  approval: z.object({ approval_id: z.string(), digest: z.string() }).optional(),
});

const toolFinished = z.object({
  turn: ordinal,
  call_id: z.string(),
  tool: z.string(),
  outcome: z.enum(['ok', 'error', 'unknown']),
  result: z.string(),
  /** Images of the result, for models that take them. `result` names them. Missing: none. */
  images: z.array(imageSchema).optional(),
  /** The process-watcher that carried it out. It has the session's files, so further commands run there. */
  watcher: z.string().nullable().default(null),
});

/** The payload of a webhook lacks values that the route's `prompt` or `title` names. */
const placeholderMissing = z.object({
  turn: ordinal,
  delivery_id: z.string(),
  /** As the template has them, `{pull_request.title}`. Of many, the first. */
  placeholders: z.array(z.string()).min(1),
  /** What the route does about it: they stay in the text as written, or are left out. */
  on_missing: z.enum(['keep', 'empty']),
});

const webhookCoalesced = z.object({
  delivery_id: z.string(),
  turn: ordinal,
  input: z.string(),
  start_after: isoTime,
  /** Moves with start_after, because time in the window is not time in the queue. null: unchanged. */
  queue_deadline: isoTime.nullable().default(null),
  /** The trace of the later POST. It is linked, not joined (one-trace). */
  traceparent: z.string().nullable().default(null),
});

const interimStatus = z.object({
  generation: ordinal,
  turn: ordinal,
  /** Number of the status within this run. Tells a repeated command from a second status with the same text. */
  sequence: ordinal.default(1),
  /**
   * `queued`: not written by the run. It tells the author of a message that came while the turn was at work that the message
   * waits.
   */
  kind: z.enum(['fallback', 'compression', 'progress', 'agent', 'waiting', 'queued']),
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
  by: z.enum(['api', 'link', 'chat']),
  /** For `chat`: what the person is called there, for others to read. Untrusted. */
  person: z.string().optional(),
  /** Images of the answer, for models that take them. `answer` names them. Missing: none. */
  images: z.array(imageSchema).optional(),
  /** Files of the answer, for commands. `answer` names their paths. Missing: none. */
  files: z.array(receivedFileSchema).optional(),
});

const clarificationTimedOut = z.object({ clarification_id: z.string() });

/** Somebody asked for something else instead of answering. The next event cancels the turn. */
const clarificationSuperseded = z.object({ clarification_id: z.string() });

/** A tool call needs the approval of a person. The session waits without a run (invariant approved-is-what-runs). */
const approvalRequested = z.object({
  generation: ordinal,
  turn: ordinal,
  /** `<session id>.<n>`: the n-th request of the session. */
  approval_id: z.string(),
  call_id: z.string(),
  tool: z.string(),
  /** Exactly as the model wrote them. */
  arguments: z.string(),
  /** SHA-256, in hexadecimal, of the arguments as canonical JSON. What runs must have the same. */
  digest: z.string(),
  /** The rule that asks. An approval for the session is for this rule and tool. */
  rule: z.object({ tool: z.string(), match: z.string().nullable() }),
  /** Who may decide besides the admin token. Empty: whoever has the link, or may speak in the chat that is asked. */
  approvers: z.array(z.string()),
  expires_at: isoTime,
});

const approvalDecided = z.object({
  approval_id: z.string(),
  decision: z.enum(['approve', 'deny']),
  /** `once`: this call. `session`: also later calls of the tool in this session that the same rule asks about. */
  scope: z.enum(['once', 'session']),
  /** For `session`: the calls that are allowed from now on. */
  allows: z.object({ tool: z.string(), match: z.string().nullable() }).optional(),
  /** Who decided: `api`, `link`, whoever is signed in to the console, or `<platform>:<user id>` of a chat. */
  actor: z.string(),
  way: z.enum(['api', 'console', 'link', 'chat']),
  /** For the model. */
  reason: z.string().nullable().default(null),
  /** For `chat`: what the person is called there, for others to read. Untrusted. */
  person: z.string().optional(),
});

/** `time`: nobody decided in time. `superseded`: a newer turn replaces the one that asked. Either way the call does not run. */
const approvalExpired = z.object({ approval_id: z.string(), reason: z.enum(['time', 'superseded']) });

const finalResponse = z.object({
  /** null: not appended by a run (deliver_only, expiry of a turn without a runner). */
  generation: ordinal.nullable(),
  turn: ordinal,
  text: z.string(),
  outcome,
  /** An empty or [SILENT] answer: in the transcript, but not delivered. A failure is never silent. */
  silent: z.boolean(),
  /** True: the answer was cut at the model's limit of output, and there was no step or budget left to go on. */
  cut: z.boolean().optional(),
});

const runFailed = z.object({
  generation: ordinal.nullable(),
  turn: ordinal,
  /** Stable code, e.g. `models_failed`, `timeout`, `max_steps`, `budget`, `stale`, `attempts`, `agent_missing`. */
  code: z.string(),
  /** For the operator, without secrets. The user reads the final response. */
  message: z.string(),
});

const runCancelled = z.object({ generation: ordinal.nullable(), turn: ordinal.nullable(), by: z.string() });

const runInterrupted = z.object({
  generation: ordinal,
  turn: ordinal,
  /** `drain`: the runner was told to stop. `infrastructure`: an outage of Postgres or NATS. Neither counts as an attempt. */
  reason: z.enum(['drain', 'infrastructure']),
  /** How long nobody had worked when this was recorded: during an outage of Postgres nothing can be recorded. */
  silent_seconds: z.number().nonnegative().default(0),
});

/** No model of the agent can be used now. Ends the run, which does not count as an attempt (invariant an-outage-is-a-wait). */
const runPutOff = z.object({
  generation: ordinal,
  turn: ordinal,
  /** `unavailable`: busy or down, which passes by itself. `configuration`: the operator has to mend something. */
  reason: z.enum(['unavailable', 'configuration']),
  /** The next run of the turn starts then, or earlier if a model has answered another session meanwhile. */
  retry_at: isoTime,
  /** Why each model could not be used, in the order in which the agent names them. */
  models: z.array(
    z.object({
      /** Name of the model in the config. `agent:<name>` for an agent of kind `http`. */
      model: z.string(),
      /** Code of the failed call, e.g. `unavailable`, `connect`, `unauthorized`. */
      code: z.string(),
      /** For the operator, without secrets. */
      message: z.string(),
      /** False: other calls of the model had just failed, so it was not called. */
      called: z.boolean(),
    }),
  ),
});

/** `output` is the version of the interim status, clarification or final response in this stream. */
const deliveryAttempted = z.object({
  output: ordinal,
  attempt: ordinal,
  target: z.string(),
  via: z.enum(['target', 'fallback_target']).default('target'),
  sender: z.string(),
  /** The claim holds for this long after recorded_at. After that the outcome is unknown, not failed. */
  deadline_seconds: z.number().positive(),
  possible_duplicate: z.boolean().default(false),
  /** The message has buttons. Once its question is closed it is edited, so that they disappear. Missing: no. */
  buttons: z.boolean().optional(),
});

const deliverySucceeded = z.object({
  output: ordinal,
  attempt: ordinal,
  /** The platform's id of the message, if it has one. */
  receipt: z.string().nullable().default(null),
});

/** The target took one of the messages that a long output is split into. The last one is `delivery.succeeded`. */
const deliveryChunkTaken = z.object({
  output: ordinal,
  attempt: ordinal,
  /** Starts at 1. */
  chunk: ordinal,
  chunks: ordinal,
  receipt: z.string().nullable().default(null),
  /** The claim holds for this long after recorded_at. Each chunk renews it. */
  deadline_seconds: z.number().positive(),
});

const deliveryFailed = z.object({
  output: ordinal,
  attempt: ordinal,
  reason: z.string(),
  retry_at: isoTime,
  /** False for a flood wait, which does not use up the retry schedule. */
  counts: z.boolean().default(true),
  /** The request was sent and no response came. The platform may have the message, and the next attempt says so. */
  unknown: z.boolean().default(false),
});

const deliveryDead = z.object({ output: ordinal, attempt: count, reason: z.string() });
const deliveryDropped = z.object({ output: ordinal, reason: z.string() });
const deliveryRetryRequested = z.object({ output: ordinal, by: z.string() });

/**
 * The result of the edit that shows how a question was answered and removes its buttons. `gone`: the message cannot be edited.
 * `given-up`: the retries are used up. The output itself stays delivered.
 */
const deliveryUpdated = z.object({
  output: ordinal,
  result: z.enum(['edited', 'gone', 'given-up']),
  reason: z.string().nullable().default(null),
});

const deliveryUpdateFailed = z.object({
  output: ordinal,
  reason: z.string(),
  retry_at: isoTime,
  /** False for a flood wait, which does not use up the retry schedule. */
  counts: z.boolean().default(true),
});

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
  /** Start time of the pid in clock ticks since boot. Detects a reused pid. */
  pid_start_time: z.string(),
  cwd: z.string(),
  notify_on_complete: z.boolean().default(false),
  watch_patterns: z.array(z.string()).default([]),
  /** When the session stops waiting for this process. */
  wait_deadline: isoTime.nullable().default(null),
  /** The instance of process-watcher that started it. */
  watcher: z.string().nullable().default(null),
});

const processMatched = z.object({
  process_id: z.string(),
  /** Number of the match of this process. A match that is reported twice counts once. */
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
  /** Set if we ended the process: at which limit or at whose request. */
  reason: z.string().nullable().default(null),
});

const processLost = z.object({
  process_id: z.string(),
  reason: z.string(),
  output_tail: z.string().default(''),
});
/** Requested through the API: the watcher ends the process. `process.exited` follows, and the session is told as usual. */
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
  'webhook.placeholder-missing': placeholderMissing,
  'session.interim-status': interimStatus,
  'clarification.requested': clarificationRequested,
  'clarification.answered': clarificationAnswered,
  'clarification.timed-out': clarificationTimedOut,
  'clarification.superseded': clarificationSuperseded,
  'approval.requested': approvalRequested,
  'approval.decided': approvalDecided,
  'approval.expired': approvalExpired,
  'session.final-response': finalResponse,
  'run.failed': runFailed,
  'run.cancelled': runCancelled,
  'run.interrupted': runInterrupted,
  'run.put-off': runPutOff,
  'delivery.attempted': deliveryAttempted,
  'delivery.chunk-taken': deliveryChunkTaken,
  'delivery.succeeded': deliverySucceeded,
  'delivery.failed': deliveryFailed,
  'delivery.dead': deliveryDead,
  'delivery.dropped': deliveryDropped,
  'delivery.retry-requested': deliveryRetryRequested,
  'delivery.updated': deliveryUpdated,
  'delivery.update-failed': deliveryUpdateFailed,
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
export type Outcome = z.infer<typeof outcome>;
export type DeliveryTarget = z.infer<typeof target>;
export type TranscriptMessage = z.infer<typeof transcriptMessage>;
export type ToolCall = z.infer<typeof toolCall>;

/** A session event as the domain sees it: data that fits its type. */
export type SessionFact = { [T in EventType]: { readonly type: T; readonly data: EventData<T> } }[EventType];

/**
 * The stream of a key (`key-...`) says which session is the current one for that key: for coalesced webhooks, for
 * `session_key`, and for the continuation of an ended session. Replicas use its version as a lock.
 */
export const keyEventSchemas = {
  'key.session-opened': z.object({
    session_id: z.string(),
    /** Of a delivered message that is a request for approval: the version of `approval.requested`. */
    request: z.number().int().positive().optional(),
  }),
  /** How far a connection to a chat platform has come: everything before `offset` is durable. The last one counts. */
  'key.chat-offset': z.object({ offset: z.string() }),
} as const;
export type KeyEventData<T extends keyof typeof keyEventSchemas> = z.infer<(typeof keyEventSchemas)[T]>;

export const eventTypes = Object.keys(eventSchemas) as EventType[];

/** The current version of the data of every event type. Older data is upcast on read. */
export const SCHEMA_VERSION = 1;

export function isEventType(type: string): type is EventType {
  return Object.hasOwn(eventSchemas, type);
}

/** The outputs of a session, which are delivered in log order. */
export const outputTypes = [
  'session.interim-status',
  'clarification.requested',
  'approval.requested',
  'session.final-response',
] as const satisfies readonly EventType[];
