import { knownTargets, serviceNames } from '@angelia/config';
import { eventTypes, ownerHints, unstartedOutcomes } from '@angelia/contracts';
import { type AnyInstrument, Counter, type Exporter, Gauge, Histogram } from './instruments.ts';
import { type LabelSet, listed, names, oneOf } from './label-sets.ts';

/**
 * Every metric of Angelia, declared once. Tests check docs/observe.md, the dashboards and alert rules under
 * deploy/observability, and the exports of a running stack against this file. No label holds an id, an address, a URL or a
 * text. Each has a bounded set of values (label-sets.ts), and each instrument knows its most series.
 */

/** In place of a route's name, if there is no such route. No name in a config has parentheses. */
export const UNKNOWN_ROUTE = '(unknown)';
/** More than a person can tell apart on a dashboard. Routes made by API count too: from the 100th on they share one value. */
const MOST_ROUTES = 100;
const MOST_AGENTS = 50;
const MOST_MODELS = 50;

/** Tools of MCP servers by name, for the metrics of the GenAI conventions. */
const MOST_TOOLS = 100;

/** Shared by all metrics, so that each knows the same names. */
const route = names(MOST_ROUTES, UNKNOWN_ROUTE);
const agent = names(MOST_AGENTS);
const model = names(MOST_MODELS);
const target = listed(...knownTargets);
/** The kind only (session-metrics.ts): a model may ask for tools that do not exist, and MCP servers name theirs. */
const tool = listed('terminal', 'process', 'clarify', 'mcp', 'agent');

/** An ignored webhook is counted by what ignored it. */
export const webhookOutcomes = [
  'accepted',
  'coalesced',
  'ignored_event',
  'ignored_filter',
  'ignored_script',
  ...unstartedOutcomes.filter((outcome) => outcome !== 'ignored'),
] as const;
export type WebhookOutcome = (typeof webhookOutcomes)[number];

/** `refused`: told so, such as a second click. `ignored`: not addressed to the bot. `failed`: the platform sends it again. */
export const chatUpdateOutcomes = [
  'turn',
  'answer',
  'decision',
  'command',
  'refused',
  'known',
  'ignored',
  'stranger',
  'unauthorized',
  'failed',
] as const;
export type ChatUpdateOutcome = (typeof chatUpdateOutcomes)[number];

/** Codes of run.failed: of the runner (the compiler checks its failures.ts against these) and of expiry (libs/session). */
export const failureCodes = [
  'models_failed',
  'timeout',
  'max_steps',
  'budget',
  'agent_missing',
  'agent_unreachable',
  'agent_failed',
  'agent_lost',
  'target_missing',
  'not_allowed',
  'toolset_missing',
  'toolset_unavailable',
  'skill_unavailable',
  'internal',
  'stale',
  'attempts',
  'interrupted',
  'queue',
  'clarification_timeout',
  'process_timeout',
] as const;

/** The number of the attempt. From the fourth on the delivery is late; the histograms say how late. 0: no attempt. */
const attempt = listed('0', '1', '2', '3', '4+');
const durable = listed(
  ...serviceNames.flatMap((service) =>
    [...eventTypes, ...ownerHints].map((type) => `${service}-${type.replaceAll('.', '_')}`),
  ),
);

/**
 * The labels of OpenTelemetry's GenAI conventions. Provider and model are those of a model of the config. So there are about as
 * many combinations as models, times the ways in which a call can end.
 */
const modelCall = {
  'gen_ai.operation.name': oneOf('chat'),
  'gen_ai.provider.name': listed('builtin', 'openai-compatible', 'openai', 'anthropic'),
  'gen_ai.request.model': names(MOST_MODELS),
  'gen_ai.response.model': names(MOST_MODELS),
};
/** A status of HTTP, or a code of ours. */
const modelError = names(30);

/** From a time that nobody notices to a working day. */
const WAITS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400];
/** A model answers within a second or thinks for minutes. */
const CALLS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640];
/** Requests that a sender waits for, or that we wait for. */
const REQUESTS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/** The boundaries that the GenAI conventions recommend for a model call and a tool call; for an agent; for tokens. */
const GEN_AI_CALLS = Array.from({ length: 14 }, (_, n) => 2 ** n / 100);
const GEN_AI_AGENTS = Array.from({ length: 13 }, (_, n) => 2 ** n / 10);
const GEN_AI_TOKENS = Array.from({ length: 14 }, (_, n) => 4 ** n);
/** Above 0.05 s, health checks and lease renewals suffer. A lease is lost after some seconds. */
const DELAYS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

const everyService: readonly Exporter[] = ['every service'];
const leader: readonly Exporter[] = ['leader'];

/** The services use that of `metrics`. A test has one of its own, with names that no other test has used up. */
export const webhookCounter = (routes: LabelSet = names(MOST_ROUTES, UNKNOWN_ROUTE)) =>
  new Counter({
    name: 'angelia_webhooks_total',
    help: 'Webhooks by outcome. A route that does not exist is `(unknown)`.',
    unit: '1',
    labels: { route: routes, outcome: oneOf(...webhookOutcomes) },
    from: ['ingress'],
  });

export const metrics = {
  webhooks: webhookCounter(route),
  webhookSeconds: new Histogram({
    name: 'angelia_webhook_seconds',
    help: 'From the body of a webhook to its answer, including the commit. Refused webhooks are not counted.',
    unit: 's',
    labels: {},
    bounds: REQUESTS,
    from: ['ingress'],
  }),

  chatUpdates: new Counter({
    name: 'angelia_chat_updates_total',
    help: 'Updates of chats. `known`: a repeat. `stranger`: may not speak. `unauthorized`: not signed. `failed`: the platform sends it again.',
    unit: '1',
    labels: { platform: target, outcome: listed(...chatUpdateOutcomes) },
    from: ['ingress'],
  }),
  chatUpdateSeconds: new Histogram({
    name: 'angelia_chat_update_seconds',
    help: 'From the arrival of an update to its commit, including its files and the wait for earlier updates of the chat. Discord waits 3 s.',
    unit: 's',
    labels: { platform: target },
    bounds: REQUESTS,
    from: ['ingress'],
  }),
  chatDown: new Gauge({
    name: 'angelia_chat_down',
    help: '1 while this ingress leads the connection to the platform and has none. `angelia chat list` says why.',
    unit: '{state}',
    labels: { platform: target },
    from: ['ingress'],
  }),

  placeholdersMissing: new Counter({
    name: 'angelia_placeholders_missing_total',
    help: 'Webhooks whose payload lacks a value that `prompt` or `title` of their route names, by what the route does about it.',
    unit: '1',
    labels: { route, on_missing: oneOf('keep', 'empty', 'refuse') },
    from: ['ingress'],
  }),

  apiRefused: new Counter({
    name: 'angelia_api_refused_total',
    help: 'Refused calls of /v1. `slowed_down`: after too many wrong tokens. `signed_out`, `csrf`, `cross_site`: of a browser.',
    unit: '1',
    labels: {
      reason: oneOf('no_token', 'wrong_token', 'slowed_down', 'signed_out', 'csrf', 'cross_site'),
    },
    from: ['ingress'],
  }),
  consoleSignIns: new Counter({
    name: 'angelia_console_sign_ins_total',
    help: 'Sign-ins to the console. `slowed_down`: after too many wrong ones from the same address.',
    unit: '1',
    labels: {
      outcome: oneOf(
        'signed_in',
        'wrong',
        'link_expired',
        'slowed_down',
        'cross_site',
        'needs_https',
        'malformed',
      ),
    },
    from: ['ingress'],
  }),

  sessions: new Gauge({
    name: 'angelia_sessions',
    help: 'Sessions that are not settled. `delivering`: ended, with something left to deliver or a process to watch.',
    unit: '{session}',
    labels: { status: oneOf('queued', 'running', 'waiting', 'delivering') },
    from: leader,
  }),
  sessionsEnded: new Counter({
    name: 'angelia_sessions_ended_total',
    help: 'Sessions that ended, by route and outcome.',
    unit: '1',
    labels: { route, outcome: oneOf('succeeded', 'failed', 'cancelled', 'expired') },
    from: leader,
  }),
  oldestRunDue: new Gauge({
    name: 'angelia_queue_oldest_seconds',
    help: 'How long the longest waiting turn has been due to run; 0 if none is due.',
    unit: 's',
    labels: {},
    from: leader,
  }),
  oldestDeliveryDue: new Gauge({
    name: 'angelia_delivery_oldest_due_seconds',
    help: 'How long the longest waiting delivery has been due; 0 if none is due.',
    unit: 's',
    labels: {},
    from: leader,
  }),

  timeToStart: new Histogram({
    name: 'angelia_time_to_start_seconds',
    help: 'From the time a turn was accepted (coalesced: from the end of its window) to its first run.',
    unit: 's',
    labels: { route },
    bounds: WAITS,
    from: leader,
  }),
  timeToFirstStatus: new Histogram({
    name: 'angelia_time_to_first_status_seconds',
    help: 'From the time a turn was accepted to its first interim status. Turns without one are not counted.',
    unit: 's',
    labels: { route },
    bounds: WAITS,
    from: leader,
  }),
  timeToFinal: new Histogram({
    name: 'angelia_time_to_final_seconds',
    help: 'From the time a turn was accepted to its final response, including the wait for a person or a model.',
    unit: 's',
    labels: { route },
    bounds: WAITS,
    from: leader,
  }),
  timeToDelivered: new Histogram({
    name: 'angelia_time_to_delivered_seconds',
    help: 'From the time a turn was accepted until its target had the final response.',
    unit: 's',
    labels: { route },
    bounds: WAITS,
    from: leader,
  }),

  runs: new Counter({
    name: 'angelia_runs_total',
    help: 'Runs that ended. `lost`: another run took over. `asked`: ended with a question to a person. `put_off`: waits for a model.',
    unit: '1',
    labels: {
      agent,
      outcome: oneOf(
        'succeeded',
        'failed',
        'cancelled',
        'expired',
        'interrupted',
        'lost',
        'asked',
        'put_off',
      ),
    },
    from: leader,
  }),
  runSeconds: new Histogram({
    name: 'angelia_run_seconds',
    help: 'From run.started to the end of the run.',
    unit: 's',
    labels: { agent },
    bounds: WAITS,
    from: leader,
  }),
  turnsFailed: new Counter({
    name: 'angelia_turns_failed_total',
    help: 'Turns that failed or expired, by the code of run.failed.',
    unit: '1',
    labels: { code: listed(...failureCodes) },
    from: leader,
  }),
  steps: new Counter({
    name: 'angelia_steps_total',
    help: 'Model answers: `tools` asks for tools, `answer` is the end of a turn.',
    unit: '1',
    labels: { agent, outcome: oneOf('answer', 'tools') },
    from: leader,
  }),
  tokens: new Counter({
    name: 'angelia_model_tokens_total',
    help: 'Tokens of recorded answers and summaries, by model.',
    unit: '1',
    labels: { model, direction: oneOf('input', 'output') },
    from: leader,
  }),
  modelCallSeconds: new Histogram({
    name: 'angelia_model_call_seconds',
    help: 'One try of a model call, by outcome. `stopped`: cancelled, drained, timed out.',
    unit: 's',
    labels: {
      model,
      outcome: oneOf(
        'ok',
        'connect',
        'cut_off',
        'stall',
        'timeout',
        'unavailable',
        'unauthorized',
        'unknown_model',
        'refused',
        'too_long',
        'protocol',
        'stopped',
      ),
    },
    bounds: CALLS,
    from: ['agent-runner'],
  }),
  modelFallbacks: new Counter({
    name: 'angelia_model_fallbacks_total',
    help: 'Times that a run gave up a model and went on with this one.',
    unit: '1',
    labels: { model },
    from: ['agent-runner'],
  }),
  modelDown: new Gauge({
    name: 'angelia_model_down',
    help: '1 while this runner cannot use the model, so that its sessions wait. `configuration`: the operator has to correct it.',
    unit: '{state}',
    labels: { model, reason: oneOf('unavailable', 'configuration') },
    from: ['agent-runner'],
  }),
  genAiOperationSeconds: new Histogram({
    name: 'gen_ai_client_operation_duration_seconds',
    otlpName: 'gen_ai.client.operation.duration',
    help: 'One model call with all its tries, by the GenAI conventions. `error_type`: an HTTP status or a code; empty if it worked.',
    unit: 's',
    labels: { ...modelCall, 'error.type': modelError },
    bounds: GEN_AI_CALLS,
    most: 500,
    from: ['agent-runner'],
  }),
  genAiTokens: new Histogram({
    name: 'gen_ai_client_token_usage',
    otlpName: 'gen_ai.client.token.usage',
    help: 'Tokens of one model call, by the GenAI conventions, if the provider counts them.',
    unit: '{token}',
    labels: { ...modelCall, 'gen_ai.token.type': oneOf('input', 'output') },
    bounds: GEN_AI_TOKENS,
    most: 200,
    from: ['agent-runner'],
  }),
  genAiAgentSeconds: new Histogram({
    name: 'gen_ai_invoke_agent_duration_seconds',
    otlpName: 'gen_ai.invoke_agent.duration',
    help: 'One run, by the GenAI conventions. `error_type`: the code of its failure, or `lost`; empty if it did not fail.',
    unit: 's',
    labels: { 'gen_ai.agent.name': agent, 'error.type': listed('', 'lost', ...failureCodes) },
    bounds: GEN_AI_AGENTS,
    from: leader,
  }),
  genAiToolSeconds: new Histogram({
    name: 'gen_ai_execute_tool_duration_seconds',
    otlpName: 'gen_ai.execute_tool.duration',
    help: 'One tool call from its start to its result, by the GenAI conventions.',
    unit: 's',
    labels: {
      'gen_ai.tool.name': names(MOST_TOOLS),
      'gen_ai.tool.type': oneOf('function', 'extension'),
      'gen_ai.agent.name': agent,
      'error.type': oneOf('', 'tool_error', 'unknown'),
    },
    bounds: GEN_AI_CALLS,
    most: 500,
    from: leader,
  }),
  runsOpen: new Gauge({
    name: 'angelia_runner_sessions_open',
    help: 'Sessions that this runner looks at or runs.',
    unit: '{session}',
    labels: {},
    from: ['agent-runner'],
  }),
  toolCalls: new Counter({
    name: 'angelia_tool_calls_total',
    help: 'Tool calls by kind and outcome. `unknown`: its run was lost meanwhile.',
    unit: '1',
    labels: { tool, outcome: oneOf('ok', 'error', 'unknown') },
    from: leader,
  }),
  toolCallSeconds: new Histogram({
    name: 'angelia_tool_call_seconds',
    help: 'From tool.started to tool.finished.',
    unit: 's',
    labels: { tool },
    bounds: CALLS,
    from: leader,
  }),
  approvalSeconds: new Histogram({
    name: 'angelia_approval_seconds',
    help: 'How long requests for approval were open, by outcome. `expired`: nobody decided in time.',
    unit: 's',
    labels: { outcome: oneOf('approved', 'denied', 'expired', 'superseded') },
    bounds: WAITS,
    from: leader,
  }),
  statuses: new Counter({
    name: 'angelia_interim_statuses_total',
    help: 'Interim statuses by kind.',
    unit: '1',
    labels: { kind: oneOf('fallback', 'compression', 'progress', 'agent', 'waiting', 'queued') },
    from: leader,
  }),
  processesEnded: new Counter({
    name: 'angelia_processes_ended_total',
    help: 'Background processes that ended. `failed`: with an exit code other than 0. `lost`: nobody saw the end.',
    unit: '1',
    labels: { outcome: oneOf('succeeded', 'failed', 'lost') },
    from: leader,
  }),
  sessionsWatched: new Gauge({
    name: 'angelia_watcher_sessions_open',
    help: 'Sessions for which this process-watcher runs a tool call.',
    unit: '{session}',
    labels: {},
    from: ['process-watcher'],
  }),

  deliveries: new Counter({
    name: 'angelia_deliveries_total',
    help: 'Delivery attempts by outcome. Another one follows `failed`, `held` (the target asked us to wait) and `unknown`.',
    unit: '1',
    labels: { target, outcome: oneOf('delivered', 'failed', 'held', 'unknown', 'dead', 'dropped'), attempt },
    from: leader,
  }),
  sendSeconds: new Histogram({
    name: 'angelia_delivery_send_seconds',
    help: 'One attempt, from its claim to the answer of the target.',
    unit: 's',
    labels: { target, outcome: oneOf('taken', 'permanent', 'unknown', 'retryable') },
    bounds: REQUESTS,
    from: ['delivery'],
  }),
  circuitsOpen: new Gauge({
    name: 'angelia_delivery_circuits_open',
    help: 'Destinations that this process considers down and does not send to.',
    unit: '{destination}',
    labels: {},
    from: ['delivery'],
  }),
  deliveriesParked: new Gauge({
    name: 'angelia_delivery_sessions_waiting',
    help: 'Sessions that wait for a destination: for a place, its rate limit, or its circuit.',
    unit: '{session}',
    labels: {},
    from: ['delivery'],
  }),

  tailLag: new Gauge({
    name: 'angelia_tail_lag_seconds',
    help: 'Age of the oldest event that an open transaction hides from the tail; 0 if none is hidden.',
    unit: 's',
    labels: {},
    from: leader,
  }),
  relayLag: new Gauge({
    name: 'angelia_relay_lag_seconds',
    help: 'Age of the oldest event that should have been hinted and was not.',
    unit: 's',
    labels: {},
    from: leader,
  }),
  projectionLag: new Gauge({
    name: 'angelia_projection_lag_seconds',
    help: 'Age of the oldest event that the views do not show yet.',
    unit: 's',
    labels: {},
    from: leader,
  }),
  deadLetters: new Gauge({
    name: 'angelia_dead_letters',
    help: 'Events that no handler could process; at most 1000 are counted.',
    unit: '{event}',
    labels: {},
    from: leader,
  }),
  consumerPending: new Gauge({
    name: 'angelia_consumer_pending',
    help: 'Hints that JetStream has not delivered yet, per durable consumer.',
    unit: '{hint}',
    labels: { durable },
    from: leader,
  }),
  consumerAckPending: new Gauge({
    name: 'angelia_consumer_ack_pending',
    help: 'Hints that were delivered and are not acked yet, including those that wait for a retry.',
    unit: '{hint}',
    labels: { durable },
    from: leader,
  }),
  hints: new Counter({
    name: 'angelia_hints_total',
    help: 'Hints handled by this process. `again`: will be redelivered later. `failed`: the handler threw.',
    unit: '1',
    labels: { durable, outcome: oneOf('done', 'again', 'failed') },
    // ingress gets no hints.
    from: ['agent-runner', 'delivery', 'process-watcher'],
  }),
  leading: new Gauge({
    name: 'angelia_leading',
    help: '1 if this process leads the loop. The sum over all services is 1.',
    unit: '{state}',
    labels: { duty: oneOf('relay', 'projection', 'agenda', 'jobs', 'prune', 'views') },
    from: everyService,
  }),
  ready: new Gauge({
    name: 'angelia_ready',
    help: '1 if /readyz says that the service is ready.',
    unit: '{state}',
    labels: {},
    from: everyService,
  }),

  configRefused: new Gauge({
    name: 'angelia_config_refused',
    help: '1 while the config file is wrong and the last good config is in force.',
    unit: '{state}',
    labels: {},
    from: everyService,
  }),
  configRestartNeeded: new Gauge({
    name: 'angelia_config_restart_needed',
    help: 'Changed keys of the config that take effect after a restart of this service.',
    unit: '{key}',
    labels: {},
    from: everyService,
  }),
  configReloads: new Counter({
    name: 'angelia_config_reloads_total',
    help: 'Changed config files that the running service took, and that it refused.',
    unit: '1',
    labels: { outcome: oneOf('taken', 'refused') },
    from: everyService,
  }),

  appendBatch: new Histogram({
    name: 'angelia_append_batch_size',
    help: 'Appends that went to Postgres in one transaction.',
    unit: '{append}',
    labels: {},
    bounds: BATCHES,
    from: everyService,
  }),
  appendSeconds: new Histogram({
    name: 'angelia_append_seconds',
    help: 'One such transaction, including retries.',
    unit: 's',
    labels: {},
    bounds: REQUESTS,
    from: everyService,
  }),
  poolConnections: new Gauge({
    name: 'angelia_postgres_connections',
    help: 'Connections to Postgres. `durable`: appends and reads of streams; `relaxed`: all else.',
    unit: '{connection}',
    labels: { pool: oneOf('durable', 'relaxed'), state: oneOf('busy', 'idle') },
    from: everyService,
  }),
  poolWaiting: new Gauge({
    name: 'angelia_postgres_waiting',
    help: 'Statements that wait for a connection.',
    unit: '{statement}',
    labels: { pool: oneOf('durable', 'relaxed') },
    from: everyService,
  }),
  loopDelay: new Histogram({
    name: 'angelia_event_loop_delay_seconds',
    help: 'How late a timer was, once a second: everything else in this process waited as long.',
    unit: 's',
    labels: {},
    bounds: DELAYS,
    from: everyService,
  }),
  cpuSeconds: new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time of this process.',
    unit: 's',
    labels: { mode: oneOf('user', 'system') },
    from: everyService,
  }),
  residentBytes: new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory of this process as the kernel counts it.',
    unit: 'By',
    labels: {},
    from: everyService,
  }),
  heapBytes: new Gauge({
    name: 'nodejs_heap_bytes',
    help: 'V8 heap; `external` is the memory that buffers hold outside of it.',
    unit: 'By',
    labels: { kind: oneOf('used', 'total', 'external') },
    from: everyService,
  }),
  startTime: new Gauge({
    name: 'process_start_time_seconds',
    help: 'When this process started, in Unix time.',
    unit: 's',
    labels: {},
    from: everyService,
  }),
} as const;

export const allMetrics: readonly AnyInstrument[] = Object.values(
  metrics,
) as unknown as readonly AnyInstrument[];
