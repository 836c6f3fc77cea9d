import type { SessionEvent } from '../api/types.ts';
import type { Style, Tone } from '../terminal/style.ts';
import { oneLine } from '../terminal/table.ts';
import { clockText } from '../terminal/time.ts';
import { cut, padEnd } from '../terminal/width.ts';

const LONGEST_TYPE = 'process.completion-consumed'.length;
const NARROWEST_TEXT = 20;

/** An event as one line: its time, its type and the facts that matter to a person. */
export function eventLine(
  event: SessionEvent,
  options: { readonly style: Style; readonly width: number; readonly session?: string },
): string {
  const { style, width, session } = options;
  const head = [clockText(event.recorded_at), ...(session === undefined ? [] : [session])];
  const used = head.join('  ').length + LONGEST_TYPE + 4;
  const said = oneLine(textOf(event));
  return [
    ...head.map((part) => style('dim', part)),
    style(toneOfEvent(event), padEnd(event.type, LONGEST_TYPE)),
    // If too little space is left beside an id, the line wraps: a text of a few characters says nothing.
    Number.isFinite(width) && width - used >= NARROWEST_TEXT ? cut(said, width - used) : said,
  ]
    .join('  ')
    .trimEnd();
}

const BAD = new Set(['run.failed', 'delivery.dead', 'process.lost', 'clarification.timed-out']);
const WARN = new Set([
  'delivery.failed',
  'webhook.placeholder-missing',
  'run.interrupted',
  'run.put-off',
  'run.cancelled',
  'delivery.dropped',
  'approval.expired',
]);
const GOOD = new Set(['session.final-response', 'delivery.succeeded']);

function toneOfEvent({ type, data }: SessionEvent): Tone {
  const { outcome } = data;
  if (BAD.has(type) || outcome === 'failed' || outcome === 'error') return 'bad';
  if (WARN.has(type)) return 'warn';
  if (GOOD.has(type)) return 'good';
  return type.startsWith('session.') ? 'bold' : 'plain';
}

type Data = SessionEvent['data'];

/** The text for each event type. A type that is missing here was added later: then the line shows its data. */
const describers: Readonly<Record<string, (data: Data) => string>> = {
  'session.created': (d) => `route ${d.route}: ${d.title} (delivery ${d.delivery_id})`,
  'turn.requested': (d) => `turn ${d.turn} by ${d.source}: ${d.input}`,
  'run.started': (d) =>
    `run ${d.generation} of turn ${d.turn} on ${d.runner}${d.resumed === true ? `, resumed (attempt ${d.attempt})` : ''}`,
  'model.responded': (d) => {
    const calls = (d.tool_calls ?? []) as readonly { name: string }[];
    const usage = (d.usage ?? {}) as { input_tokens?: number; output_tokens?: number };
    const what = calls.length > 0 ? `calls ${calls.map(({ name }) => name).join(', ')}` : `${d.text}`;
    return `${d.model}, step ${d.step} (${usage.input_tokens ?? 0} in, ${usage.output_tokens ?? 0} out): ${what}`;
  },
  'context.compressed': (d) => `by ${d.model}: ${d.summary}`,
  'tool.started': (d) => `${d.tool} ${d.arguments}`,
  'tool.finished': (d) => `${d.tool} ${d.outcome}: ${d.result}`,
  'webhook.coalesced': (d) => `delivery ${d.delivery_id} joins turn ${d.turn}`,
  'webhook.placeholder-missing': (d) =>
    `the payload of delivery ${d.delivery_id} has no ${(d.placeholders as readonly string[]).join(', ')} (on_missing: ${d.on_missing})`,
  'session.interim-status': (d) => `${d.text}`,
  'clarification.requested': (d) => {
    const choices = (d.choices ?? []) as readonly string[];
    return `${d.question}${choices.length === 0 ? '' : ` [${choices.join(' | ')}]`}`;
  },
  'clarification.answered': (d) => `${d.answer} (by ${d.by})`,
  'clarification.timed-out': () => 'nobody answered',
  'clarification.superseded': () => 'not answered: the user sent something else',
  'approval.requested': (d) => `${d.tool} ${d.arguments} (${d.approval_id})`,
  'approval.decided': (d) =>
    `${d.decision === 'approve' ? 'approved' : 'denied'} by ${d.actor}${d.scope === 'session' ? ', for the session' : ''}${d.reason ? `: ${d.reason}` : ''}`,
  'approval.expired': (d) =>
    d.reason === 'superseded' ? 'not decided: a newer turn came' : 'nobody decided in time',
  'session.final-response': (d) => `${d.outcome}${d.silent === true ? ', silent' : ''}: ${d.text}`,
  'run.failed': (d) => `${d.code}: ${d.message}`,
  'run.cancelled': (d) => `by ${d.by}`,
  'run.interrupted': (d) => `run ${d.generation}: ${d.reason}`,
  'run.put-off': (d) => {
    const models = (d.models ?? []) as readonly { model: string; code: string }[];
    const why = models.map(({ model, code }) => `${model} ${code}`).join(', ');
    return `run ${d.generation}: ${d.reason} (${why}); next run at ${d.retry_at}`;
  },
  'delivery.attempted': (d) =>
    `output ${d.output} to ${d.target}, attempt ${d.attempt}${d.possible_duplicate === true ? ', marked as possible duplicate' : ''}`,
  'delivery.chunk-taken': (d) => `output ${d.output}: part ${d.chunk} of ${d.chunks}`,
  'delivery.succeeded': (d) => `output ${d.output}${d.receipt ? `, ${d.receipt}` : ''}`,
  'delivery.failed': (d) => `output ${d.output}: ${d.reason}; next attempt at ${d.retry_at}`,
  'delivery.dead': (d) => `output ${d.output} is dead: ${d.reason}`,
  'delivery.dropped': (d) => `output ${d.output}: ${d.reason}`,
  'delivery.retry-requested': (d) => `output ${d.output} by ${d.by}`,
  'delivery.updated': (d) => `output ${d.output}: ${d.result}${d.reason ? `, ${d.reason}` : ''}`,
  'delivery.update-failed': (d) => `output ${d.output}: ${d.reason}; next attempt at ${d.retry_at}`,
  'process.started': (d) => `${d.process_id} (pid ${d.pid} on ${d.host}): ${d.command}`,
  'process.matched': (d) => `${d.process_id} "${d.pattern}": ${d.line}`,
  'process.exited': (d) =>
    `${d.process_id} ${d.exit_code === null ? `by ${d.signal}` : `with ${d.exit_code}`} after ${d.duration_seconds} s: ${d.output_tail}`,
  'process.lost': (d) => `${d.process_id}: ${d.reason}`,
  'process.kill-requested': (d) => `${d.process_id} by ${d.by}`,
  'process.completion-consumed': (d) => `${d.process_id} by ${d.by}`,
  'session.ended': (d) => `${d.outcome} (${d.reason})${d.detail ? `: ${d.detail}` : ''}`,
};

function textOf({ type, data }: SessionEvent): string {
  const describe = Object.hasOwn(describers, type) ? describers[type] : undefined;
  return describe === undefined ? JSON.stringify(data) : describe(data);
}

/** For a test that compares this list with the event types. */
export const describedTypes: readonly string[] = Object.keys(describers);
