import { parsedJson } from '../../parts/json/parsed-json.ts';

/** What a tool was called with, in a line: the command if it has one, else all arguments. */
export function callText(args: string | null): string {
  const value = parsedJson(args ?? '') as { readonly command?: unknown } | undefined;
  const text = typeof value?.command === 'string' ? value.command : (args ?? '');
  return firstLine(text);
}

export function firstLine(text: string | null): string {
  return (text ?? '').trimStart().split('\n', 1)[0]?.slice(0, 200) ?? '';
}
