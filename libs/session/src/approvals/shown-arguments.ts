import { canonicalArguments, parsedArguments } from './arguments-digest.ts';

/** What a person reads before deciding: all of the arguments, and nothing that looks different from what it is. */
export interface ShownArguments {
  /** The command line of `terminal`. Null: the tool has none. */
  readonly command: string | null;
  /** The other arguments as canonical JSON. Null: there are none. */
  readonly others: string | null;
}

export function shownArguments(tool: string, written: string): ShownArguments {
  const parsed = parsedArguments(written);
  if (tool === 'terminal' && typeof parsed === 'object' && parsed !== null && 'command' in parsed) {
    const { command, ...others } = parsed as Record<string, unknown>;
    if (typeof command === 'string') {
      const rest = Object.keys(others).length === 0 ? null : canonicalArguments(JSON.stringify(others));
      return { command: visible(command), others: rest === null ? null : visible(rest) };
    }
  }
  return { command: null, others: visible(canonicalArguments(written)) };
}

/**
 * Characters that hide, or that change the order of what is shown: control characters, zero-width ones, marks of writing
 * direction. A command that reads one way and runs another must not be approved.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/gu;

function visible(text: string): string {
  return text.replace(HIDDEN, (character) =>
    character === '\n' || character === '\t'
      ? character
      : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
