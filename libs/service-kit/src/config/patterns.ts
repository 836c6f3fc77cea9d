import type { ConfigProblem, FilterConfig } from '@angelia/contracts';
import { RE2JS } from 're2js';

/**
 * Regular expressions of filters, by RE2: no pattern makes it backtrack, so that neither the operator's nor an API
 * user's pattern can be made to stall the process by a payload. There are no look-arounds and no back references.
 */
export type Pattern = (text: string) => boolean;

/**
 * What linear time is linear in: instructions times characters. At both caps the worst of those in
 * patterns.unit.test.ts took some 25 ms; counted repetitions (`x{1,1000}`) are what makes programs large.
 */
const MOST_INSTRUCTIONS = 2_000;
/** As they are written, one and all of a route: a class or a `\pL` is one instruction, however long it takes to compile. */
const MOST_SOURCE = 4_000;
const MOST_SOURCE_OF_ROUTE = 8_000;
/** Of all patterns of a route together, as one webhook may have to be searched for each: some 50 ms at the worst. */
const MOST_INSTRUCTIONS_OF_ROUTE = 4_000;
const MOST_PATTERNS_OF_ROUTE = 50;
/** What lies behind is not searched (`$` matches at the cut). Some four pages: the fields that filters look at are names, refs and titles. */
export const SEARCHED_CHARACTERS = 16_384;

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
    matches: (text) =>
      compiled.test(text.length > SEARCHED_CHARACTERS ? text.slice(0, SEARCHED_CHARACTERS) : text),
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
