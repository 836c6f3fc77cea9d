import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

/** About 12,000 tokens. A longer result would crowd out the work itself. Its beginning and end are kept. */
export const LONGEST_RESULT = 50_000;

/** What the model reads of a result. Parts that are not text are named, so that nothing is left out silently. */
export function resultText(result: CallToolResult): string {
  const parts = result.content.map(partText);
  if (parts.length === 0 && result.structuredContent !== undefined) {
    parts.push(JSON.stringify(result.structuredContent));
  }
  return capped(parts.join('\n')) || '(no output)';
}

function partText(part: CallToolResult['content'][number]): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'image':
    case 'audio':
      return `[${part.type}, ${part.mimeType}, ${Math.floor((part.data.length * 3) / 4)} bytes: cannot be shown here]`;
    case 'resource_link':
      return `[resource ${part.name}: ${part.uri}]`;
    case 'resource':
      return 'text' in part.resource
        ? part.resource.text
        : `[resource ${part.resource.uri}: binary, cannot be shown here]`;
  }
}

export function capped(text: string): string {
  if (text.length <= LONGEST_RESULT) return text;
  const half = LONGEST_RESULT / 2;
  const left = text.slice(0, half);
  const right = text.slice(-half);
  const missing = text.length - left.length - right.length;
  return `${whole(left)}\n[... ${missing} characters left out: ask for less at once ...]\n${whole(right)}`;
}

/** Removes the half of a surrogate pair that a cut leaves at an end. */
function whole(text: string): string {
  return text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');
}
