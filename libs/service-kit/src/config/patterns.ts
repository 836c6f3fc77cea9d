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
/** What lies behind is not searched (`$` matches at the cut). Some four pages: the fields that filters look at are names, refs and titles. */
export const SEARCHED_CHARACTERS = 16_384;

export function compilePattern(
  source: string,
): { readonly ok: true; readonly matches: Pattern } | { readonly ok: false; readonly reason: string } {
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(source);
  } catch (error) {
    const reason =
      error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : String(error);
    return { ok: false, reason: `${reason} (RE2 syntax: no look-around, no back reference)` };
  }
  if (compiled.programSize() > MOST_INSTRUCTIONS) {
    return {
      ok: false,
      reason: 'the pattern is too large when its repetitions are written out: shorten them',
    };
  }
  return {
    ok: true,
    matches: (text) =>
      compiled.test(text.length > SEARCHED_CHARACTERS ? text.slice(0, SEARCHED_CHARACTERS) : text),
  };
}
