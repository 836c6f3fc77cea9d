import type { ChatMessage } from '../platform.ts';

/** `/name rest` at the beginning of a text. */
export function readCommand(text: string, sign = '/'): ChatMessage['command'] {
  if (!text.startsWith(sign)) return null;
  const [matched, name] = /^([A-Za-z][A-Za-z0-9_-]{0,31})(?:\s+|$)/.exec(text.slice(sign.length)) ?? [];
  if (matched === undefined || name === undefined) return null;
  return { name: name.toLowerCase(), rest: text.slice(sign.length + matched.length).trim() };
}
