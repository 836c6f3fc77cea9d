import { canonicalArguments, canonicalJson, parsedArguments } from './arguments-digest.ts';

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
      const rest = Object.keys(others).length === 0 ? null : canonicalJson(others);
      return { command: visible(command), others: rest === null ? null : visible(rest) };
    }
  }
  return { command: null, others: visible(canonicalArguments(written)) };
}

/** Of each part, in characters: a request in a chat is a message, not a document. */
export const LONGEST_SHOWN = 2_000;

/** Whether a message in a chat has all that would run. If not, nobody approves it from the message alone. */
export function isShownWhole({ command, others }: ShownArguments): boolean {
  return [command, others].every((text) => text === null || text.length <= LONGEST_SHOWN);
}

/**
 * Characters that are invisible, that look like a space but are not one to a shell, or that change the order of the shown text:
 * control characters, zero-width ones, fillers and selectors without a shape, marks of writing direction. A command that reads
 * one way and runs another must not be approved.
 */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** With such characters shown as their code. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) =>
    character === '\n' || character === '\t'
      ? character
      : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** Markdown. No backtick in the text may close it. */
export function codeSpan(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const pad = longest > 0 ? ' ' : '';
  return `${fence}${pad}${visible(text)}${pad}${fence}`;
}
