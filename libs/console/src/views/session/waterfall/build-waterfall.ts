import type { Tone } from '../../../parts/feedback/badge.tsx';
import { countText } from '../../../parts/text/visible-text.ts';
import { callText, firstLine } from '../call-text.ts';
import { EventData, type SessionEvent, timeOf } from '../session-event.ts';
import type { Step, StepKind } from './step.ts';

interface Draft {
  kind: StepKind;
  label: string;
  note: string;
  from: number;
  until: number | null;
  tone: Tone;
  state: string;
  versions: number[];
  parts: Draft[];
}

interface Output {
  readonly version: number;
  readonly at: number;
  readonly what: string;
}

const OUTCOME_TONES: Readonly<Record<string, Tone>> = {
  succeeded: 'ok',
  failed: 'bad',
  cancelled: 'calm',
  expired: 'bad',
};

/**
 * What happened in a session as bars: the queue, runs by generation with their model calls and tools, waiting for people and for
 * models, processes, and deliveries with every attempt. It is a fold over the events. The beginning of a model call is not an
 * event: it follows from how long the call took, or, in older events, it is where the run's step before it ended.
 */
export function buildWaterfall(events: readonly SessionEvent[]): readonly Step[] {
  const folding = new Folding();
  for (const event of events) folding.take(event);
  return folding.steps();
}

class Folding {
  readonly #top: Draft[] = [];
  readonly #tools = new Map<string, Draft>();
  readonly #processes = new Map<string, Draft>();
  readonly #deliveries = new Map<number, Draft>();
  readonly #outputs = new Map<number, Output>();
  #run: Draft | null = null;
  /** What the turn waits for between runs: its place in the queue, an answer, a model. */
  #waits: Draft[] = [];
  #lastStep = 0;

  take(event: SessionEvent): void {
    const data = new EventData(event);
    const at = timeOf(event);
    switch (event.type) {
      case 'turn.requested':
        this.#wait('queue', 'Queue', data.text('source') ?? '', event, at);
        break;
      case 'webhook.coalesced':
        this.#note(this.#waits.at(-1), event, 'coalesced');
        break;
      case 'run.started':
        this.#startRun(event, data, at);
        break;
      case 'model.responded':
        this.#step(
          'model',
          data.text('model') ?? 'model',
          usageText(data),
          event,
          at,
          this.#modelBegan(data, at),
        );
        break;
      case 'context.compressed':
        this.#step('model', 'Summary of the conversation', usageText(data), event, at);
        break;
      case 'tool.started':
        this.#startTool(event, data, at);
        break;
      case 'tool.finished':
        this.#finishTool(event, data, at);
        break;
      case 'session.interim-status':
        this.#output(event, 'status', at);
        this.#step('status', 'Status', firstLine(data.text('text')), event, at, at);
        break;
      case 'clarification.requested':
        this.#output(event, 'question', at);
        this.#endRun(at, 'ok', 'asks', event);
        this.#wait('person', 'Waits for an answer', firstLine(data.text('question')), event, at);
        this.#expectDelivery(event, at);
        break;
      case 'clarification.answered':
        this.#endWaits(at, 'ok', 'answered', event, 'person');
        this.#wait('queue', 'Queue', 'after the answer', event, at);
        break;
      case 'clarification.timed-out':
        this.#endWaits(at, 'bad', 'no answer', event, 'person');
        this.#wait('queue', 'Queue', 'without an answer', event, at);
        break;
      case 'clarification.superseded':
        this.#endWaits(at, 'calm', 'superseded', event, 'person');
        break;
      case 'approval.requested':
        this.#output(event, 'request', at);
        this.#endRun(at, 'ok', 'asks', event);
        this.#wait('person', 'Waits for an approval', approvalNote(data), event, at);
        this.#expectDelivery(event, at);
        break;
      case 'approval.decided': {
        const approved = data.text('decision') === 'approve';
        const note = `by ${data.text('actor') ?? 'somebody'}`;
        this.#endWaits(at, approved ? 'ok' : 'bad', approved ? 'approved' : 'denied', event, 'person');
        this.#wait('queue', 'Queue', `${approved ? 'approved' : 'denied'} ${note}`, event, at);
        break;
      }
      case 'approval.expired':
        if (data.text('reason') === 'superseded') {
          this.#endWaits(at, 'calm', 'superseded', event, 'person');
          break;
        }
        this.#endWaits(at, 'bad', 'expired', event, 'person');
        this.#wait('queue', 'Queue', 'nobody approved', event, at);
        break;
      case 'run.put-off':
        this.#endRun(at, 'wait', 'put off', event);
        this.#wait('outage', 'Waits for a model', data.text('reason') ?? '', event, at);
        break;
      case 'run.interrupted':
        this.#endRun(at, 'calm', 'interrupted', event);
        this.#wait('queue', 'Queue', 'after an interruption', event, at);
        break;
      case 'run.failed':
        this.#endRun(at, 'bad', 'failed', event, data.text('code') ?? '');
        this.#endWaits(at, 'bad', data.text('code') ?? 'failed', event);
        break;
      case 'run.cancelled':
        this.#endRun(at, 'calm', 'cancelled', event);
        this.#endWaits(at, 'calm', 'cancelled', event);
        break;
      case 'session.final-response': {
        const outcome = data.text('outcome') ?? 'succeeded';
        this.#output(event, 'answer', at);
        this.#endRun(at, OUTCOME_TONES[outcome] ?? 'ok', outcome, event);
        if (!data.flag('silent')) this.#expectDelivery(event, at);
        break;
      }
      case 'session.ended':
        this.#endRun(at, 'calm', 'ended', event);
        this.#endWaits(at, 'calm', 'ended', event);
        break;
      case 'process.started':
        this.#startProcess(event, data, at);
        break;
      case 'process.matched':
      case 'process.kill-requested':
      case 'process.completion-consumed':
        this.#note(this.#processes.get(data.text('process_id') ?? ''), event);
        break;
      case 'process.exited':
      case 'process.lost':
        this.#endProcess(event, data, at);
        break;
      default:
        if (event.type.startsWith('delivery.')) this.#takeDelivery(event, data, at);
    }
  }

  steps(): readonly Step[] {
    const run = this.#run;
    if (run !== null && !run.parts.some(({ kind, until }) => kind === 'tool' && until === null)) {
      const call = draft('model', 'Model call', '', this.#lastStep, []);
      run.parts.push(call);
    }
    return this.#top
      .toSorted((a, b) => a.from - b.from)
      .flatMap((top) => [stepOf(top, 0), ...top.parts.map((part) => stepOf(part, 1))]);
  }

  #startRun(event: SessionEvent, data: EventData, at: number): void {
    // A run without an end: its runner died, and this one takes over.
    this.#endRun(at, 'bad', 'lost');
    this.#endWaits(at, 'ok', 'done', event);
    const note = data.flag('resumed') ? 'resumed' : '';
    this.#run = draft('run', `Run ${data.number('generation') ?? ''}`.trim(), note, at, [event.version]);
    this.#top.push(this.#run);
    this.#lastStep = at;
  }

  #endRun(at: number, tone: Tone, state: string, event?: SessionEvent, note = ''): void {
    const run = this.#run;
    if (run === null) return;
    end(run, at, tone, state, event, note);
    for (const part of run.parts)
      if (part.until === null && part.kind !== 'tool') end(part, at, 'calm', 'stopped');
    this.#run = null;
  }

  #step(
    kind: StepKind,
    label: string,
    note: string,
    event: SessionEvent,
    at: number,
    from = this.#lastStep,
  ): void {
    const step = draft(kind, label, note, this.#run === null ? at : from, [event.version]);
    end(step, at, kind === 'status' ? 'calm' : 'ok', kind === 'status' ? 'sent' : 'done');
    (this.#run?.parts ?? this.#top).push(step);
    if (kind !== 'status') this.#lastStep = at;
  }

  #modelBegan(data: EventData, at: number): number {
    const took = data.number('duration_ms');
    return took === null ? this.#lastStep : Math.max(this.#lastStep, at - took);
  }

  #startTool(event: SessionEvent, data: EventData, at: number): void {
    const tool = draft('tool', data.text('tool') ?? 'tool', callText(data.text('arguments')), at, [
      event.version,
    ]);
    this.#tools.set(data.text('call_id') ?? '', tool);
    (this.#run?.parts ?? this.#top).push(tool);
  }

  #finishTool(event: SessionEvent, data: EventData, at: number): void {
    // A call that is refused, or of a tool that there is not, never starts.
    const call = data.text('call_id');
    if (call !== null && !this.#tools.has(call)) this.#startTool(event, data, at);
    const tool = this.#tools.get(call ?? '');
    const outcome = data.text('outcome') ?? 'ok';
    const tone = outcome === 'ok' ? 'ok' : outcome === 'unknown' ? 'wait' : 'bad';
    if (tool !== undefined) end(tool, at, tone, outcome === 'unknown' ? 'outcome unknown' : outcome, event);
    this.#lastStep = at;
  }

  #wait(kind: StepKind, label: string, note: string, event: SessionEvent, at: number): void {
    const waiting = draft(kind, label, note, at, [event.version]);
    if (kind !== 'queue') waiting.tone = 'wait';
    this.#waits.push(waiting);
    this.#top.push(waiting);
  }

  #endWaits(at: number, tone: Tone, state: string, event: SessionEvent, kind?: StepKind): void {
    const over = this.#waits.filter((waiting) => kind === undefined || waiting.kind === kind);
    // A further turn stays in the queue when a run starts for the one before it.
    const ended = event.type === 'run.started' ? over.slice(0, 1) : over;
    for (const waiting of ended) end(waiting, at, tone, state, event);
    this.#waits = this.#waits.filter((waiting) => !ended.includes(waiting));
  }

  #startProcess(event: SessionEvent, data: EventData, at: number): void {
    const process = draft('process', 'Process', firstLine(data.text('command')), at, [event.version]);
    this.#processes.set(data.text('process_id') ?? '', process);
    this.#top.push(process);
  }

  #endProcess(event: SessionEvent, data: EventData, at: number): void {
    const process = this.#processes.get(data.text('process_id') ?? '');
    if (process === undefined) return;
    const code = data.number('exit_code');
    if (event.type === 'process.lost') end(process, at, 'bad', 'lost', event);
    else if (code === null) end(process, at, 'bad', data.text('signal') ?? 'killed', event);
    else end(process, at, code === 0 ? 'ok' : 'bad', `exit code ${code}`, event);
  }

  #output(event: SessionEvent, what: string, at: number): void {
    this.#outputs.set(event.version, { version: event.version, at, what });
  }

  /** An answer or a question is delivered, also while nothing was tried yet. */
  #expectDelivery(event: SessionEvent, at: number): void {
    this.#delivery(event.version, at);
  }

  #delivery(output: number, at: number): Draft {
    const known = this.#deliveries.get(output);
    if (known !== undefined) return known;
    const of = this.#outputs.get(output);
    const delivery = draft('delivery', `Delivery of the ${of?.what ?? 'output'}`, '', of?.at ?? at, [output]);
    delivery.tone = 'wait';
    delivery.state = 'pending';
    this.#deliveries.set(output, delivery);
    this.#top.push(delivery);
    return delivery;
  }

  #takeDelivery(event: SessionEvent, data: EventData, at: number): void {
    const delivery = this.#delivery(data.number('output') ?? 0, at);
    const attempt = delivery.parts.at(-1);
    switch (event.type) {
      case 'delivery.attempted': {
        // An attempt without an outcome: nobody knows whether the platform took it.
        if (attempt?.until === null) end(attempt, at, 'wait', 'outcome unknown');
        const next = draft(
          'attempt',
          `Attempt ${data.number('attempt') ?? ''}`.trim(),
          data.text('target') ?? '',
          at,
          [event.version],
        );
        delivery.parts.push(next);
        delivery.note = data.text('target') ?? delivery.note;
        delivery.versions.push(event.version);
        delivery.state = 'sending';
        delivery.tone = 'busy';
        break;
      }
      case 'delivery.chunk-taken':
        this.#note(attempt, event);
        break;
      case 'delivery.succeeded':
        if (attempt?.until === null) end(attempt, at, 'ok', 'taken', event);
        end(delivery, at, 'ok', 'delivered', event);
        break;
      case 'delivery.failed':
        if (attempt?.until === null)
          end(attempt, at, 'bad', data.flag('unknown') ? 'outcome unknown' : 'failed', event, reasonOf(data));
        delivery.versions.push(event.version);
        delivery.tone = 'wait';
        delivery.state = 'will be tried again';
        break;
      case 'delivery.dead':
        if (attempt?.until === null) end(attempt, at, 'bad', 'failed', event, reasonOf(data));
        end(delivery, at, 'bad', 'dead', event, reasonOf(data));
        break;
      case 'delivery.dropped':
        end(delivery, at, 'calm', 'dropped', event, reasonOf(data));
        break;
      case 'delivery.retry-requested':
        delivery.until = null;
        delivery.tone = 'wait';
        delivery.state = 'pending again';
        this.#note(delivery, event);
        break;
    }
  }

  #note(step: Draft | undefined, event: SessionEvent, note = ''): void {
    if (step === undefined) return;
    step.versions.push(event.version);
    if (note !== '') step.note = note;
  }
}

function draft(kind: StepKind, label: string, note: string, from: number, versions: number[]): Draft {
  return { kind, label, note, from, until: null, tone: 'busy', state: 'under way', versions, parts: [] };
}

function end(step: Draft, at: number, tone: Tone, state: string, event?: SessionEvent, note = ''): void {
  step.until = Math.max(step.from, at);
  step.tone = tone;
  step.state = state;
  if (event !== undefined && !step.versions.includes(event.version)) step.versions.push(event.version);
  if (note !== '') step.note = note;
}

function stepOf({ parts: _, ...step }: Draft, depth: number): Step {
  return { ...step, depth, id: `${step.kind}-${step.versions[0] ?? 'now'}` };
}

function usageText(data: EventData): string {
  const usage = data.usage;
  return usage === null ? '' : `${countText(usage.input)} in, ${countText(usage.output)} out`;
}

const approvalNote = (data: EventData): string =>
  `${data.text('tool') ?? 'tool'} ${callText(data.text('arguments'))}`;

const reasonOf = (data: EventData): string => firstLine(data.text('reason'));
