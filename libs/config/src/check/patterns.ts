import type { ConfigProblem, FilterConfig } from '@angelia/contracts';
import { RE2JS } from 're2js';

/**
 * Regular expressions of filters, by RE2: no pattern makes it backtrack, so that neither the operator's nor an API
 * user's pattern can be made to stall the process by a payload. There are no look-arounds and no back references.
 */
export type Pattern = (text: string) => boolean;

/**
 * What linear time is linear in: instructions times characters. Most patterns take 0.1 to 4 ns for each of these, the
 * worst that we found (`(a[ab]{0,40}){20}$`) 15; counted repetitions (`x{1,1000}`) are what makes programs large.
 */
const MOST_INSTRUCTIONS = 2_000;
/** As they are written, one and all of a route: a class or a `\pL` is one instruction, however long it takes to compile. */
const MOST_SOURCE = 4_000;
const MOST_SOURCE_OF_ROUTE = 8_000;
/** Of all patterns of a route together, as one webhook may have to be searched for each. */
const MOST_INSTRUCTIONS_OF_ROUTE = 4_000;
const MOST_PATTERNS_OF_ROUTE = 50;
/** So long a value can always be judged, by whatever patterns a route may have: names, refs, titles, and four pages of text. */
const ALWAYS_JUDGED = 16_384;
/**
 * What the patterns of a route may cost for one webhook: instructions times characters, some 0.1 s, with the worst patterns a second. A megabyte
 * can be searched for 62 instructions, three or four usual patterns.
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
      reason: `the pattern is longer than ${MOST_SOURCE} characters: shorten it`,
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
      reason: 'the pattern is too large when its repetitions are written out: shorten them',
      instructions,
    };
  }
  return {
    ok: true,
    instructions,
    // All of the text: at a cut `$` would match, and what is looked for could hide behind it.
    matches: (text) => compiled.test(text),
  };
}

/** What is wrong with the patterns of a route's filters. Ends at the first one that is beyond what a route may have. */
export function routePatternProblems(place: string, filters: readonly FilterConfig[]): ConfigProblem[] {
  const patterns = filters.flatMap((filter, index) => patternsOf(`${place}.${index}`, filter));
  const beyond = patterns[MOST_PATTERNS_OF_ROUTE];
  if (beyond !== undefined) {
    return [
      {
        place: beyond.place,
        reason:
          `the filters of a route have at most ${MOST_PATTERNS_OF_ROUTE} patterns, and these have ` +
          `${patterns.length}: join some with \`|\`, or use \`in\``,
      },
    ];
  }
  const problems: ConfigProblem[] = [];
  let instructions = 0;
  let characters = 0;
  for (const { place, source } of patterns) {
    characters += source.length;
    if (characters > MOST_SOURCE_OF_ROUTE) {
      const reason = `with this one the patterns of the route are longer than ${MOST_SOURCE_OF_ROUTE} characters together: shorten or remove some`;
      return [...problems, { place, reason }];
    }
    const compiled = compilePattern(source);
    instructions += compiled.instructions;
    if (!compiled.ok) problems.push({ place, reason: compiled.reason });
    if (instructions > MOST_INSTRUCTIONS_OF_ROUTE) {
      const reason =
        'with this one the patterns of the route are too large together when their repetitions are written out ' +
        `(more than ${MOST_INSTRUCTIONS_OF_ROUTE} instructions): shorten or remove some`;
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
