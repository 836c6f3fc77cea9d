import type { ConfigProblem, FilterConfig } from '@angelia/contracts';
import { RE2JS } from 're2js';

/**
 * A regular expression of a filter, run by RE2. RE2 never backtracks, so no payload can make a pattern of the operator or
 * of an API user stall the process. It has no look-around and no back reference.
 */
type Pattern = (text: string) => boolean;

/**
 * The time is linear in instructions times characters. Most patterns take 0.1 to 4 ns for each of these, the worst that
 * we found (`(a[ab]{0,40}){20}$`) 15. Counted repetitions (`x{1,1000}`) make programs large.
 */
const MOST_INSTRUCTIONS = 2_000;
/** Characters of one pattern, and of all patterns of a route. A class or a `\pL` is one instruction but slow to compile. */
const MOST_SOURCE = 4_000;
const MOST_SOURCE_OF_ROUTE = 8_000;
/** Of all patterns of a route together: one webhook may be searched for each of them. */
const MOST_INSTRUCTIONS_OF_ROUTE = 4_000;
const MOST_PATTERNS_OF_ROUTE = 50;
/** Characters that can always be searched, whatever patterns a route has: names, refs, titles, and four pages of text. */
const ALWAYS_JUDGED = 16_384;
/**
 * What the patterns of a route may cost for one webhook: instructions times characters. This takes 0.1 s, and a second with
 * the worst patterns. A megabyte can be searched for 62 instructions: three or four usual patterns.
 */
export const MOST_PATTERN_WORK = MOST_INSTRUCTIONS_OF_ROUTE * ALWAYS_JUDGED;

export function compilePattern(
  source: string,
):
  | { readonly ok: true; readonly matches: Pattern; readonly instructions: number }
  | { readonly ok: false; readonly reason: string; readonly instructions: number } {
  if (source.length > MOST_SOURCE) {
    return {
      ok: false,
      reason: `the pattern is longer than ${MOST_SOURCE} characters. Shorten it.`,
      instructions: 0,
    };
  }
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(source);
  } catch (error) {
    const reason =
      error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : String(error);
    return {
      ok: false,
      reason: `${reason} (RE2 syntax: no look-around, no back reference)`,
      instructions: 0,
    };
  }
  const instructions = compiled.programSize();
  if (instructions > MOST_INSTRUCTIONS) {
    return {
      ok: false,
      reason: 'the pattern is too large when its repetitions are written out. Shorten them.',
      instructions,
    };
  }
  return {
    ok: true,
    instructions,
    // All of the text: `$` would match at a cut, and a match could hide behind it.
    matches: (text) => compiled.test(text),
  };
}

/** Problems of the patterns of a route's filters. Stops at the first pattern that exceeds a limit of the route. */
export function routePatternProblems(place: string, filters: readonly FilterConfig[]): ConfigProblem[] {
  const patterns = filters.flatMap((filter, index) => patternsOf(`${place}.${index}`, filter));
  const beyond = patterns[MOST_PATTERNS_OF_ROUTE];
  if (beyond !== undefined) {
    return [
      {
        place: beyond.place,
        reason:
          `the filters of the route have ${patterns.length} patterns, and at most ${MOST_PATTERNS_OF_ROUTE} are ` +
          'allowed. Join some with `|`, or use `in`.',
      },
    ];
  }
  const problems: ConfigProblem[] = [];
  let instructions = 0;
  let characters = 0;
  for (const { place, source } of patterns) {
    characters += source.length;
    if (characters > MOST_SOURCE_OF_ROUTE) {
      const reason = `from here on the patterns of the route have more than ${MOST_SOURCE_OF_ROUTE} characters together. Shorten or remove some.`;
      return [...problems, { place, reason }];
    }
    const compiled = compilePattern(source);
    instructions += compiled.instructions;
    if (!compiled.ok) problems.push({ place, reason: compiled.reason });
    if (instructions > MOST_INSTRUCTIONS_OF_ROUTE) {
      const reason =
        'from here on the patterns of the route are too large together when their repetitions are written out ' +
        `(more than ${MOST_INSTRUCTIONS_OF_ROUTE} instructions). Shorten or remove some.`;
      return compiled.ok ? [...problems, { place, reason }] : problems;
    }
  }
  return problems;
}

function patternsOf(
  place: string,
  { regex, all, any, not }: FilterConfig,
): { readonly place: string; readonly source: string }[] {
  return [
    ...(regex === undefined ? [] : [{ place: `${place}.regex`, source: regex }]),
    ...(all ?? []).flatMap((inner, index) => patternsOf(`${place}.all.${index}`, inner)),
    ...(any ?? []).flatMap((inner, index) => patternsOf(`${place}.any.${index}`, inner)),
    ...(not === undefined ? [] : patternsOf(`${place}.not`, not)),
  ];
}
