import type { Headers } from '../../../api/calls/route-calls.ts';

/** Headers as they are pasted from a log or a tool: `X-GitHub-Event: push`, one per line. `wrong`: lines that are none. */
export function parseHeaders(text: string): { readonly headers: Headers; readonly wrong: readonly string[] } {
  const headers: Record<string, string> = {};
  const wrong: string[] = [];
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '') continue;
    const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) wrong.push(line);
    else headers[name.toLowerCase()] = value;
  }
  return { headers, wrong };
}

/** The payload that was pasted, or why it is none. */
export function parsePayload(text: string): { readonly payload: unknown } | { readonly error: string } {
  if (text.trim() === '') return { error: 'Paste the JSON body of a webhook.' };
  try {
    return { payload: JSON.parse(text) as unknown };
  } catch (error) {
    return { error: `This is not JSON: ${error instanceof Error ? error.message : 'it cannot be read'}.` };
  }
}
