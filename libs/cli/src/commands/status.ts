import type { Session, SessionEvent } from '../api/types.ts';
import { type Context, defineCommand } from '../command-line/command.ts';
import { type Tone, toneOf } from '../terminal/style.ts';
import { fields } from '../terminal/table.ts';
import { agoText, durationText } from '../terminal/time.ts';
import { type Span, spansOf } from '../timeline/spans.ts';
import { waterfall } from '../timeline/waterfall.ts';
import { sessionArgument, sessionPath } from './session-argument.ts';

export const status = defineCommand({
  name: 'status',
  summary: 'show one session, and what took its time',
  description:
    'It shows the session as the log has it now, and its timeline: runs, model steps, tools, questions, outputs, deliveries ' +
    'and background processes. In sessions of 0.2.0 and older, a model step is assumed to begin when the step or tool before it ended.',
  arguments: [sessionArgument],
  examples: [
    { command: 'angelia status 01a1e281-20d9-7563-b8f1-427765d52c50', does: 'everything about a session' },
    {
      command: 'angelia status 01a1e281-20d9-7563-b8f1-427765d52c50 --json | jq .outcome',
      does: 'one field; the timeline is under `timeline`',
    },
  ],
  calls: ['get /v1/sessions/{id}', 'get /v1/sessions/{id}/events'],
  run: async (context) => {
    const { api, given, out, runtime } = context;
    const client = api();
    const path = sessionPath(given);
    const [stored, events] = await Promise.all([
      client.get<Session>(path),
      client.get<{ items: SessionEvent[] }>(`${path}/events`),
    ]);
    const session = { ...stored, failure: wholeFailure(stored, events.items) };
    const spans = spansOf(events.items);
    out.answer({ ...session, timeline: spans.map((span) => spanJson(span)) }, () =>
      [
        sessionFields(session, context),
        '',
        waterfall(spans, { width: out.width, style: out.style, now: runtime.now() }),
      ].join('\n'),
    );
    return undefined;
  },
});

function spanJson(span: Span) {
  const { started_at, ended_at } = span;
  const duration = ended_at === null ? null : Date.parse(ended_at) - Date.parse(started_at);
  return { ...span, duration_ms: duration };
}

/** The summary cuts a long message, and has only codes while the session waits for a model. The event has the whole. */
function wholeFailure(
  { failure, outcome, waiting_for: waitingFor }: Session,
  events: readonly SessionEvent[],
): Session['failure'] {
  if (failure == null) return failure;
  if (waitingFor === 'model') {
    const putOff = events.findLast(({ type }) => type === 'run.put-off');
    const models = (putOff?.data.models ?? []) as readonly { readonly message: string }[];
    return models.length === 0
      ? failure
      : { code: failure.code, message: models.map(({ message }) => message).join('; ') };
  }
  if (outcome === null) return failure;
  const failed = events.findLast(({ type, data }) => type === 'run.failed' && data.code === failure.code);
  return failed === undefined ? failure : { code: failure.code, message: String(failed.data.message) };
}

function sessionFields(session: Session, { out, runtime }: Context): string {
  const { deliveries, deliver, usage, processes } = session;
  const now = runtime.now();
  const ended = session.ended_at ?? new Date(now).toISOString();
  const took = durationText(Date.parse(ended) - Date.parse(session.created_at));
  const at = (iso: string): string => `${iso} (${agoText(iso, now)})`;
  const to = Object.entries(deliver.to).map(([key, value]) => `${key}=${valueText(value)}`);
  const reason: [string, string, Tone][] =
    session.failure == null ? [] : [['reason', `${session.failure.code}: ${session.failure.message}`, 'bad']];
  const rows: [string, string, Tone?][] = [
    // The question that brings somebody here is why it failed.
    ...(session.outcome === null ? [] : reason),
    ['session', session.id, 'bold'],
    ['title', session.title],
    ['status', stateText(session), toneOf(session.outcome ?? session.status)],
    ...(session.outcome === null ? reason : []),
    ...(session.retry_at == null ? [] : [['tries again', at(session.retry_at)] as [string, string]]),
    ...(session.end_reason === null ? [] : [['end reason', session.end_reason] as [string, string]]),
    ['route', session.route],
    ['event', session.event ?? '-'],
    ['delivery id', session.delivery_id],
    ...(session.continues === undefined ? [] : [['continues', session.continues] as [string, string]]),
    ...(session.clarification === undefined
      ? []
      : [
          [
            'question',
            `open until ${at(session.clarification.deadline)}: angelia answer ${session.id}`,
            'warn',
          ] as [string, string, Tone],
        ]),
    ...(session.approval === undefined
      ? []
      : [
          [
            'approval',
            `of ${session.approval.tool}, open until ${at(session.approval.expires_at)}: angelia approve ${session.approval.id}`,
            'warn',
          ] as [string, string, Tone],
        ]),
    ['created', at(session.created_at)],
    ['last activity', at(session.last_activity_at)],
    [
      'ended',
      session.ended_at === null ? `not yet (${took} so far)` : `${at(session.ended_at)}, it took ${took}`,
    ],
    ['runs', String(session.generation)],
    ['version', String(session.version)],
    ['model', session.model ?? '-'],
    ['tokens', `${usage.input_tokens} in, ${usage.output_tokens} out`],
    ['delivers to', [deliver.target, ...to].join(' ')],
    [
      'deliveries',
      `${deliveries.delivered} delivered, ${deliveries.pending} pending, ${deliveries.dead} dead, ${deliveries.dropped} dropped`,
      deliveries.dead > 0 ? 'bad' : 'plain',
    ],
    [
      'processes',
      processes.length === 0
        ? '-'
        : processes.map(({ id, status: how, command }) => `${id} ${how}: ${command}`).join('\n'),
    ],
    ['trace', session.trace_id ?? '-'],
  ];
  return fields(rows, out.style);
}

function stateText({ status: state, outcome, waiting_for: waitingFor }: Session): string {
  if (outcome !== null) return `${state}, ${outcome}`;
  return waitingFor == null ? state : `${state} for a ${waitingFor}`;
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
