import type { Sink } from '../runtime.ts';

export type Tone = 'plain' | 'dim' | 'bold' | 'good' | 'bad' | 'warn' | 'accent';
export type Style = (tone: Tone, text: string) => string;

const CODES: Readonly<Record<Tone, readonly [on: number, off: number] | null>> = {
  plain: null,
  dim: [2, 22],
  bold: [1, 22],
  good: [32, 39],
  bad: [31, 39],
  warn: [33, 39],
  accent: [36, 39],
};

export function styleFor(coloured: boolean): Style {
  return (tone, text) => {
    const codes = CODES[tone];
    if (!coloured || codes === null || text === '') return text;
    return `\u001b[${codes[0]}m${text}\u001b[${codes[1]}m`;
  };
}

/** Colours on a terminal, unless NO_COLOR (no-color.org) or TERM=dumb. FORCE_COLOR wins over both; its value `0` means no. */
export function wantsColour(env: Readonly<Record<string, string | undefined>>, stream: Sink): boolean {
  const forced = env.FORCE_COLOR;
  if (forced !== undefined) return forced !== '0' && forced !== 'false';
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return false;
  return stream.isTTY === true && env.TERM !== 'dumb';
}

const TONES: Readonly<Record<string, Tone>> = {
  running: 'accent',
  queued: 'dim',
  waiting: 'warn',
  pending: 'accent',
  succeeded: 'good',
  delivered: 'good',
  accepted: 'good',
  active: 'good',
  exited: 'plain',
  failed: 'bad',
  dead: 'bad',
  lost: 'bad',
  unusable: 'bad',
  cancelled: 'warn',
  expired: 'warn',
  dropped: 'warn',
  disabled: 'warn',
  ignored: 'warn',
  duplicate: 'warn',
};

/** The tone of a status or an outcome. */
export function toneOf(word: string): Tone {
  return TONES[word] ?? 'plain';
}
