import { type Style, type Tone, toneOf } from '../terminal/style.ts';
import { oneLine } from '../terminal/table.ts';
import { durationText } from '../terminal/time.ts';
import { cut, displayWidth, padEnd, padStart } from '../terminal/width.ts';
import type { Span } from './spans.ts';

/** Narrower bars show nothing, wider bars show nothing more. */
const NARROWEST_BARS = 20;
const WIDEST_BARS = 60;
/** The width without a terminal. */
const USUAL_WIDTH = 110;
const LONGEST_NOTE = 60;
const GAP = '  ';

const TONES: Readonly<Record<Span['kind'], Tone>> = {
  queued: 'dim',
  run: 'bold',
  model: 'accent',
  tool: 'warn',
  question: 'warn',
  waiting: 'warn',
  output: 'good',
  delivery: 'good',
  process: 'accent',
  mark: 'dim',
};

/**
 * The spans of a session as bars on one time scale: name, bar, duration, outcome.
 * `━` is a finished span, `◆` a moment, `┄` a span that goes on.
 */
export function waterfall(
  spans: readonly Span[],
  options: { readonly width: number; readonly style: Style; readonly now: number },
): string {
  const [first] = spans;
  if (first === undefined) return '';
  const { style, now } = options;
  const begin = Date.parse(first.started_at);
  const end = Math.max(
    begin + 1,
    ...spans.map(({ ended_at }) => (ended_at === null ? now : Date.parse(ended_at))),
  );
  const names = spans.map(({ level, name }) => `${GAP.repeat(level)}${name}`);
  const durations = spans.map((span) => durationOf(span, now));
  const nameRoom = Math.max(...names.map(displayWidth));
  const durationRoom = Math.max(...durations.map(displayWidth));
  const width = Number.isFinite(options.width) ? options.width : USUAL_WIDTH;
  const fixed = nameRoom + durationRoom + 3 * GAP.length;
  // The notes get two fifths of the remaining width.
  const bars = Math.min(WIDEST_BARS, Math.max(NARROWEST_BARS, Math.floor((width - fixed) * 0.6)));
  const noteRoom = Number.isFinite(options.width) ? Math.max(0, width - fixed - bars) : LONGEST_NOTE;

  const scale = `${padEnd('', nameRoom)}${GAP}${padEnd('0', bars - displayWidth(durationText(end - begin)))}${durationText(end - begin)}`;
  const lines = spans.map((span, index) => {
    const tone = span.outcome !== null && toneOf(span.outcome) === 'bad' ? 'bad' : TONES[span.kind];
    const note = [span.outcome, span.note].filter((part) => part !== null && part !== '').join(': ');
    return [
      padEnd(names[index] ?? '', nameRoom),
      style(tone, barOf(span, { begin, end, bars, now })),
      padStart(durations[index] ?? '', durationRoom),
      style('dim', cut(oneLine(note), noteRoom)),
    ]
      .join(GAP)
      .trimEnd();
  });
  return [style('dim', scale), ...lines].join('\n');
}

function barOf(
  { started_at, ended_at }: Span,
  { begin, end, bars, now }: { begin: number; end: number; bars: number; now: number },
): string {
  const column = (at: number): number =>
    Math.min(bars - 1, Math.max(0, Math.floor(((at - begin) / (end - begin)) * bars)));
  const from = column(Date.parse(started_at));
  if (ended_at === started_at) return padEnd(`${' '.repeat(from)}◆`, bars);
  const to = column(ended_at === null ? now : Date.parse(ended_at));
  const bar = (ended_at === null ? '┄' : '━').repeat(to - from + 1);
  return padEnd(' '.repeat(from) + bar, bars);
}

function durationOf({ started_at, ended_at }: Span, now: number): string {
  if (ended_at === started_at) return '';
  const ms = (ended_at === null ? now : Date.parse(ended_at)) - Date.parse(started_at);
  return `${durationText(ms)}${ended_at === null ? '+' : ''}`;
}
