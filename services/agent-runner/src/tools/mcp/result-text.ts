import { bytesOfBase64, imageNote, imageTypes, MOST_IMAGE_DATA, MOST_IMAGES } from '@angelia/contracts';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { ToolImage } from '../tool.ts';

/** About 12,000 tokens. A longer result would crowd out the work itself. Its beginning and end are kept. */
export const LONGEST_RESULT = 50_000;

/** What the model reads of a result, and sees. Parts that it cannot read are named, so that nothing is left out silently. */
export function readResult(result: CallToolResult): { readonly text: string; readonly images: ToolImage[] } {
  const images: ToolImage[] = [];
  let left = MOST_IMAGE_DATA;
  const parts = result.content.map((part) => {
    const image = imageIn(part);
    if (image === null || images.length === MOST_IMAGES || image.data.length > left) return partText(part);
    left -= image.data.length;
    images.push(image);
    return imageNote(images.length, image.mimeType, image.data);
  });
  if (parts.length === 0 && result.structuredContent !== undefined) {
    parts.push(JSON.stringify(result.structuredContent));
  }
  return { text: capped(parts.join('\n')) || '(no output)', images };
}

type Part = CallToolResult['content'][number];

/** An image that models can take. Null: the part is something else. */
function imageIn(part: Part): ToolImage | null {
  const found =
    part.type === 'image'
      ? part
      : part.type === 'resource' && 'blob' in part.resource
        ? { mimeType: part.resource.mimeType ?? '', data: part.resource.blob }
        : null;
  if (found === null || !imageTypes.some((type) => type === found.mimeType)) return null;
  // Some write line ends into it, which providers refuse.
  const data = found.data.replaceAll(/\s/g, '');
  const isBase64 = data !== '' && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
  return isBase64 ? { mimeType: found.mimeType, data } : null;
}

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'image':
    case 'audio':
      return `[${part.type}, ${part.mimeType}, ${bytesOfBase64(part.data)} bytes: cannot be shown here]`;
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
