import {
  type Config,
  type EventData,
  type EventType,
  type HolderId,
  instanceOf,
  type RecordedEvent,
} from '@angelia/contracts';
import { captured, captures } from '@angelia/service-kit';
import {
  evolveAll,
  expiryCodes,
  type Measure,
  measure,
  type SessionState,
  WATCHER_TOOLS,
} from '@angelia/session';
import { isTracing, type Loaded, recordSpan, SESSION_ID } from '@angelia/sessions';

/**
 * The spans of runs and of their tool calls, by the GenAI conventions of OpenTelemetry: `invoke_agent {agent}`,
 * `execute_tool {tool}`. They are told from the events when they are over. `run.started` and `tool.started` carry the trace
 * context of the span that they begin (libs/sessions), so everything below it has its parent, in whichever process. The span
 * itself is exported by one process, which also lives if the one that began it was killed:
 *
 *   a run       by its runner; a lost one by the runner that takes over, an expired one by the runner that expires it
 *   a call      by the run that sees its result; if none was open then, by the next run
 *               without a result, when its turn is over: with the run
 */

type RunEnded = Extract<Measure, { what: 'run-ended' }>;
/** Who ended a run. */
type By = 'runner' | 'takeover' | 'expiry';

/** The trace context of the run's own span. Undefined: it has none. */
export function traceOfRun({ events }: Loaded, generation: number): string | undefined {
  return startOf(events, generation)?.meta.traceparent;
}

/** The trace context of the call's own span. Undefined: it has none. */
export function traceOfCall({ events }: Loaded, callId: string): string | undefined {
  return lastOf(events, 'tool.started', (data) => data.call_id === callId)?.meta.traceparent;
}

/** A runner has claimed a run: exports what the run before it, which is gone, could not. */
export function traceClaim(before: Loaded, claimed: Loaded, config: Config): void {
  if (!isTracing()) return;
  traceRunEnd(before, claimed, config, 'takeover');
  const { events, state } = claimed;
  const previous = startOf(events, state.generation - 1)?.data as EventData<'run.started'> | undefined;
  if (previous === undefined) return;
  const lastAct = events.findLast((event) => isOfRun(event, previous.generation))?.version ?? 0;
  const runner = instanceOf(previous.runner as HolderId);
  for (const event of newerThan(events, lastAct))
    if (event.meta.actor !== runner) traceResult(claimed, event);
}

/** The stream of a run has grown: exports the calls that have their results now. */
export function traceResults(before: Loaded, after: Loaded): void {
  if (isTracing()) for (const event of newerThan(after.events, before.version)) traceResult(after, event);
}

/**
 * Exports the span of the run that is open in `before` and over in `after`, and of its calls that will never have a result.
 * Does nothing if somebody else ended the run and exports it.
 */
export function traceRunEnd(before: Loaded, after: Loaded, config: Config, by: By): void {
  const { run } = before.state;
  if (!isTracing() || run === null) return;
  let { state } = before;
  for (const event of newerThan(after.events, before.version)) {
    const next = evolveAll(state, [event]);
    const over = measure(state, event, next).find(({ what }) => what === 'run-ended') as RunEnded | undefined;
    if (over !== undefined) {
      if (endedBy(event) !== by) return;
      recordRun(after, { run, over, endMs: event.recordedAt, config });
      const turnIsOver = !after.state.turns.some(({ turn }) => turn === run.turn);
      if (turnIsOver) recordOpenCalls(after, state, event.recordedAt, over);
      return;
    }
    state = next;
  }
}

function endedBy({ type, data }: RecordedEvent): By {
  if (type === 'run.started') return 'takeover';
  if (type === 'run.failed' && expiryCodes.includes((data as EventData<'run.failed'>).code)) return 'expiry';
  return 'runner';
}

function recordRun(
  { id, events, state: { created } }: Loaded,
  given: {
    readonly run: NonNullable<SessionState['run']>;
    readonly over: RunEnded;
    readonly endMs: number;
    readonly config: Config;
  },
): void {
  const { run, over, endMs, config } = given;
  const own = startOf(events, run.generation)?.meta.traceparent;
  const parent = created?.traceparent;
  if (own === undefined || parent == null) return;
  const answers = events.flatMap(({ type, data }) => {
    const answer = data as EventData<'model.responded'>;
    return type === 'model.responded' && answer.generation === run.generation ? [answer.usage] : [];
  });
  recordSpan({
    name: `invoke_agent ${over.agent}`,
    parent,
    own,
    startMs: run.startedAt,
    endMs,
    error: over.error,
    links: coalescedInto(events, run.turn),
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': over.agent,
      'gen_ai.provider.name': providerOf(over.agent, config),
      [SESSION_ID]: id,
      'gen_ai.usage.input_tokens': answers.reduce((sum, { input_tokens }) => sum + input_tokens, 0),
      'gen_ai.usage.output_tokens': answers.reduce((sum, { output_tokens }) => sum + output_tokens, 0),
      'angelia.generation': run.generation,
      'angelia.resumed': run.resumed,
      'angelia.outcome': over.outcome,
    },
  });
}

/** The provider of its model. A program and a remote service are called by us. */
function providerOf(name: string, { agents, models }: Config): string {
  const agent = Object.hasOwn(agents, name) ? agents[name] : undefined;
  const model = agent?.kind === 'llm' ? (agent.model ?? '') : '';
  return (Object.hasOwn(models, model) ? models[model]?.provider : undefined) ?? 'angelia';
}

/** The traces of the webhooks that were coalesced into this turn. */
function coalescedInto(events: readonly RecordedEvent[], turn: number): string[] {
  return events.flatMap(({ type, data }) => {
    if (type !== 'webhook.coalesced') return [];
    const coalesced = data as EventData<'webhook.coalesced'>;
    return coalesced.turn === turn && coalesced.traceparent !== null ? [coalesced.traceparent] : [];
  });
}

function traceResult(loaded: Loaded, event: RecordedEvent): void {
  if (event.type !== 'tool.finished') return;
  const { call_id, outcome, result } = event.data as EventData<'tool.finished'>;
  recordCall(loaded, call_id, {
    endMs: event.recordedAt,
    error: outcome === 'ok' ? null : outcome === 'error' ? 'tool_error' : outcome,
    result,
  });
}

function recordOpenCalls(loaded: Loaded, state: SessionState, endMs: number, over: RunEnded): void {
  for (const { calls } of state.turns)
    for (const { id, status } of calls)
      if (status === 'started')
        recordCall(loaded, id, { endMs, error: over.error ?? over.outcome, result: null });
}

function recordCall(
  loaded: Loaded,
  callId: string,
  end: { readonly endMs: number; readonly error: string | null; readonly result: string | null },
): void {
  const { id, events, state } = loaded;
  const started = lastOf(events, 'tool.started', (data) => data.call_id === callId);
  // A call that was refused before it started has no span.
  if (started?.meta.traceparent === undefined) return;
  const { tool, arguments: args, generation } = started.data as EventData<'tool.started'>;
  const parent = startOf(events, generation)?.meta.traceparent ?? state.created?.traceparent;
  if (parent == null) return;
  recordSpan({
    name: `execute_tool ${tool}`,
    parent,
    own: started.meta.traceparent,
    startMs: started.recordedAt,
    endMs: end.endMs,
    error: end.error,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool,
      'gen_ai.tool.call.id': callId,
      'gen_ai.tool.type': WATCHER_TOOLS.includes(tool) ? 'function' : 'extension',
      'gen_ai.agent.name': state.created?.agent ?? '',
      [SESSION_ID]: id,
      ...(captures('tool_arguments') ? { 'gen_ai.tool.call.arguments': captured(args) } : {}),
      ...(captures('tool_results') && end.result !== null
        ? { 'gen_ai.tool.call.result': captured(end.result) }
        : {}),
    },
  });
}

/** Appended by this run, rather than by process-watcher for it. */
function isOfRun({ type, data }: RecordedEvent, generation: number): boolean {
  return type !== 'process.started' && (data as { readonly generation?: unknown }).generation === generation;
}

function newerThan(events: readonly RecordedEvent[], version: number): readonly RecordedEvent[] {
  return events.slice(1 + events.findLastIndex((event) => event.version <= version));
}

function startOf(events: readonly RecordedEvent[], generation: number): RecordedEvent | undefined {
  return lastOf(events, 'run.started', (data) => data.generation === generation);
}

function lastOf<T extends EventType>(
  events: readonly RecordedEvent[],
  type: T,
  matches: (data: EventData<T>) => boolean,
): RecordedEvent | undefined {
  return events.findLast((event) => event.type === type && matches(event.data as EventData<T>));
}
