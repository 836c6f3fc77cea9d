import type { EventData } from '@angelia/contracts';
import { canonicalArguments, parsedArguments } from './arguments-digest.ts';

export type ToolPolicy = NonNullable<EventData<'session.created'>['tools']>;
export type ToolRule = ToolPolicy['policy'][number];

/** The first rule that matches the call. Null: none does, and a granted tool is allowed. */
export function ruleFor(policy: readonly ToolRule[], tool: string, written: string): ToolRule | null {
  return policy.find((rule) => matches(rule, tool, written)) ?? null;
}

/** By these characters a command line goes on with another command, reads or writes a file, or uses a value. */
const SHELL_CHARACTERS = /[;&|<>()`$\n\r]/g;
/** And by these a shell reads such characters as ordinary ones, or ordinary ones as such. */
const WITH_QUOTES = /[;&|<>()`$\n\r'"\\#]/g;

/** Whether the rule is about this call. */
export function matches(rule: ToolRule, tool: string, written: string): boolean {
  if (!matchesPattern(rule.tool, tool)) return false;
  if (rule.match === undefined) return true;
  const command = commandLine(tool, written);
  if (command === null) return matchesPattern(rule.match, canonicalArguments(written));
  if (!matchesPattern(rule.match, command)) return false;
  // `git status *` must not allow `git status ; rm -rf ~`. The written characters of the pattern match themselves, so that
  // an equal number of them means that no `*` matched one. If the pattern has one, no `*` may match a quote either: the `;`
  // of `git log --grep '*;*'` is not quoted any more in `git log --grep ''; rm -rf '~'`.
  if (rule.do !== 'allow') return true;
  const counted = count(rule.match, SHELL_CHARACTERS) === 0 ? SHELL_CHARACTERS : WITH_QUOTES;
  return count(command, counted) === count(rule.match, counted);
}

/** Null: the tool has none. A command that is no text is none, and no tool accepts it. */
function commandLine(tool: string, written: string): string | null {
  if (tool !== 'terminal') return null;
  const { command } = (parsedArguments(written) ?? {}) as { readonly command?: unknown };
  return typeof command === 'string' ? command : null;
}

function count(text: string, characters: RegExp): number {
  return text.match(characters)?.length ?? 0;
}

/**
 * Whether the pattern matches the whole text. `*` stands for any characters, also none and also line breaks; everything
 * else for itself. There is no escape and no backtracking: the parts between the stars are looked for from left to right,
 * so the time is bounded by the product of the two lengths, whatever a model writes.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return pattern === text;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
