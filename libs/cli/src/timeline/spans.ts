import type { SessionEvent } from '../api/types.ts';

/** One bar of the waterfall. */
export interface Span {
  readonly kind:
    | 'queued'
    | 'run'
    | 'model'
    | 'tool'
    | 'question'
    | 'waiting'
    | 'output'
    | 'delivery'
    | 'process'
    | 'mark';
  readonly name: string;
  /** 1 for what happens inside a run. */
  readonly level: 0 | 1;
  readonly started_at: string;
  /** Null while it goes on. Equal to the start for an output or a mark, which take no time. */
  readonly ended_at: string | null;
  /** `succeeded`, `failed`, `lost` ...; null while it goes on, or if it has no outcome. */
  readonly outcome: string | null;
  readonly note: string;
  /** Version of its first event. */
  readonly version: number;
}

interface Open {
  readonly key: string;
  readonly span: Span;
}

/**
 * The events of a session as spans, in the order in which they began. The log has no event for the start of a model call, so
 * the span of a call begins as long before its answer as the answer took, in older logs at the event before it in the run.
 */
export function spansOf(events: readonly SessionEvent[]): Span[] {
  const done: Span[] = [];
  const open: Open[] = [];
  /** By generation: the time of the last event of its run. */
  const lastOfRun = new Map<unknown, string>();

  const begin = (
    key: string,
    event: SessionEvent,
    span: Pick<Span, 'kind' | 'name' | 'level'> & { note?: string },
  ): void => {
    open.push({
      key,
      span: {
        note: '',
        ...span,
        started_at: event.recorded_at,
        ended_at: null,
        outcome: null,
        version: event.version,
      },
    });
  };
  const finish = (
    match: (key: string) => boolean,
    event: SessionEvent,
    outcome: string | null,
    note?: string,
  ): void => {
    for (const ending of open.filter(({ key }) => match(key))) {
      open.splice(open.indexOf(ending), 1);
      done.push({
        ...ending.span,
        ended_at: event.recorded_at,
        outcome,
        note: note === undefined || note === '' ? ending.span.note : note,
      });
    }
  };
  const mark = (event: SessionEvent, span: Pick<Span, 'kind' | 'name'> & Partial<Span>): void => {
    const at = { started_at: event.recorded_at, ended_at: event.recorded_at };
    done.push({ level: 0, outcome: null, note: '', ...at, version: event.version, ...span });
  };
  const run = (generation: unknown) => (key: string) => key === `run ${generation}`;
  const any = (prefix: string) => (key: string) => key.startsWith(prefix);

  for (const event of events) {
    const { data, recorded_at: at } = event;
    switch (event.type) {
      case 'turn.requested':
        begin(`turn ${data.turn}`, event, {
          kind: 'queued',
          name: `turn ${data.turn} queued`,
          level: 0,
          note: text(data.source),
        });
        break;
      case 'run.started':
        // A run that did not end before the next one began was lost with its runner.
        finish(any('run '), event, 'lost');
        finish(any('wait '), event, null);
        finish((key) => key === `turn ${data.turn}`, event, null);
        begin(`run ${data.generation}`, event, {
          kind: 'run',
          name: `run ${data.generation}`,
          level: 0,
          note:
            data.resumed === true
              ? `resumed, attempt ${data.attempt}, ${text(data.runner)}`
              : text(data.runner),
        });
        lastOfRun.set(data.generation, at);
        break;
      case 'model.responded': {
        const usage = (data.usage ?? {}) as { input_tokens?: number; output_tokens?: number };
        const finished = text(data.finish_reason);
        const took = typeof data.duration_ms === 'number' ? data.duration_ms : null;
        const began = took === null ? null : new Date(Date.parse(at) - took).toISOString();
        mark(event, {
          kind: 'model',
          name: `model ${text(data.model)}`,
          level: 1,
          started_at: began ?? lastOfRun.get(data.generation) ?? at,
          outcome: finished,
          note: `step ${data.step}, ${usage.input_tokens ?? 0} in, ${usage.output_tokens ?? 0} out`,
        });
        lastOfRun.set(data.generation, at);
        break;
      }
      case 'context.compressed':
        mark(event, {
          kind: 'model',
          name: 'context compressed',
          level: 1,
          started_at: lastOfRun.get(data.generation) ?? at,
          note: text(data.model),
        });
        lastOfRun.set(data.generation, at);
        break;
      case 'tool.started':
        begin(`tool ${data.call_id}`, event, {
          kind: 'tool',
          name: `tool ${text(data.tool)}`,
          level: 1,
          note: text(data.arguments),
        });
        break;
      case 'tool.finished': {
        finish((key) => key === `tool ${data.call_id}`, event, text(data.outcome));
        for (const generation of lastOfRun.keys()) lastOfRun.set(generation, at);
        break;
      }
      case 'clarification.requested':
        finish(run(data.generation), event, 'asked');
        begin(`question ${data.clarification_id}`, event, {
          kind: 'question',
          name: 'question',
          level: 0,
          note: text(data.question),
        });
        break;
      case 'clarification.answered':
        finish((key) => key === `question ${data.clarification_id}`, event, 'answered', text(data.answer));
        break;
      case 'clarification.timed-out':
        finish((key) => key === `question ${data.clarification_id}`, event, 'timed out');
        break;
      case 'clarification.superseded':
        finish((key) => key === `question ${data.clarification_id}`, event, 'superseded');
        break;
      case 'approval.requested':
        finish(run(data.generation), event, 'asked');
        begin(`approval ${data.approval_id}`, event, {
          kind: 'question',
          name: 'approval',
          level: 0,
          note: `${text(data.tool)} ${text(data.arguments)}`,
        });
        break;
      case 'approval.decided':
        finish((key) => key === `approval ${data.approval_id}`, event, text(data.decision), text(data.actor));
        break;
      case 'approval.expired':
        finish((key) => key === `approval ${data.approval_id}`, event, 'expired');
        break;
      case 'webhook.coalesced':
        mark(event, { kind: 'mark', name: 'webhook joined', note: text(data.delivery_id) });
        break;
      case 'webhook.placeholder-missing':
        mark(event, {
          kind: 'mark',
          name: 'placeholder missing',
          note: (data.placeholders as readonly string[]).join(', '),
        });
        break;
      case 'session.interim-status':
        mark(event, { kind: 'output', name: 'interim status', note: text(data.text) });
        break;
      case 'session.final-response':
        finish(run(data.generation), event, text(data.outcome));
        finish((key) => key === `turn ${data.turn}`, event, text(data.outcome));
        mark(event, {
          kind: 'output',
          name: 'final response',
          outcome: text(data.outcome),
          note: data.silent === true ? 'silent: not delivered' : text(data.text),
        });
        break;
      case 'run.failed':
        finish(run(data.generation), event, 'failed', `${text(data.code)}: ${text(data.message)}`);
        break;
      case 'run.cancelled':
        finish(run(data.generation), event, 'cancelled', `by ${text(data.by)}`);
        finish(any('wait '), event, 'cancelled');
        finish(any('turn '), event, 'cancelled');
        break;
      case 'run.interrupted':
        finish(run(data.generation), event, 'interrupted', text(data.reason));
        break;
      case 'run.put-off': {
        const models = (data.models ?? []) as readonly { model: string; code: string }[];
        const why = models.map(({ model, code }) => `${model} ${code}`).join(', ');
        finish(run(data.generation), event, 'put off', why);
        begin(`wait ${data.generation}`, event, {
          kind: 'waiting',
          name: 'waits for model',
          level: 0,
          note: `${text(data.reason)}, until ${text(data.retry_at)}`,
        });
        break;
      }
      case 'delivery.attempted':
        // Nobody recorded the outcome of the attempt before.
        finish(any(`delivery ${data.output} `), event, 'unknown');
        begin(`delivery ${data.output} ${data.attempt}`, event, {
          kind: 'delivery',
          name: `deliver ${data.output} to ${text(data.target)}`,
          level: 0,
          note: data.attempt === 1 ? '' : `attempt ${data.attempt}`,
        });
        break;
      case 'delivery.succeeded':
        finish(any(`delivery ${data.output} `), event, 'delivered');
        break;
      case 'delivery.failed':
        finish(any(`delivery ${data.output} `), event, 'failed', text(data.reason));
        break;
      case 'delivery.dead':
        if (open.some(({ key }) => key.startsWith(`delivery ${data.output} `))) {
          finish(any(`delivery ${data.output} `), event, 'dead', text(data.reason));
        } else
          mark(event, {
            kind: 'mark',
            name: `output ${data.output} given up`,
            outcome: 'dead',
            note: text(data.reason),
          });
        break;
      case 'delivery.dropped':
        mark(event, {
          kind: 'mark',
          name: `output ${data.output} dropped`,
          outcome: 'dropped',
          note: text(data.reason),
        });
        break;
      case 'delivery.retry-requested':
        mark(event, { kind: 'mark', name: `output ${data.output} retry`, note: `by ${text(data.by)}` });
        break;
      case 'process.started':
        begin(`process ${data.process_id}`, event, {
          kind: 'process',
          name: text(data.process_id),
          level: 0,
          note: text(data.command),
        });
        break;
      case 'process.matched':
        mark(event, {
          kind: 'mark',
          name: 'output matched',
          note: `${text(data.process_id)}: ${text(data.line)}`,
        });
        break;
      case 'process.exited':
        finish((key) => key === `process ${data.process_id}`, event, exitText(data));
        break;
      case 'process.lost':
        finish((key) => key === `process ${data.process_id}`, event, 'lost', text(data.reason));
        break;
      case 'session.ended':
        finish(any('run '), event, text(data.outcome));
        finish(any('wait '), event, text(data.outcome));
        finish(any('tool '), event, 'unknown');
        finish(any('turn '), event, text(data.outcome));
        mark(event, {
          kind: 'mark',
          name: 'session ended',
          outcome: text(data.outcome),
          note: text(data.detail ?? data.reason),
        });
        break;
    }
  }
  return [...done, ...open.map(({ span }) => span)].sort(
    (a, b) => Date.parse(a.started_at) - Date.parse(b.started_at) || a.version - b.version,
  );
}

function exitText({ exit_code: code, signal }: SessionEvent['data']): string {
  return code === null || code === undefined ? text(signal) : code === 0 ? 'exit 0' : `exit ${code}`;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : value === null || value === undefined ? '' : String(value);
}
