import { contentIs, fileTypeOf, isImageType, isTextType, textOf } from '@angelia/chats';
import type { ImageType } from '@angelia/contracts';
import type { ChatFile } from '../../platform.ts';

/**
 * The type of a file, by its sender's word and by its bytes. Both must agree, because models and people each see only one of
 * them.
 */
export type CheckedFile =
  | { readonly kind: 'image'; readonly mimeType: ImageType }
  | { readonly kind: 'text'; readonly text: string }
  /** For commands only. */
  | { readonly kind: 'other' }
  /** Why it is not taken, for the model and for the person. */
  | { readonly kind: 'refused'; readonly why: string };

export function checkFile(declared: string, bytes: Uint8Array): CheckedFile {
  if (bytes.length === 0) return { kind: 'refused', why: 'it is empty' };
  if (!contentIs(declared, bytes)) {
    const claimed = isTextType(declared) ? 'text' : declared;
    return { kind: 'refused', why: `its content is not ${claimed}` };
  }
  if (isImageType(declared)) return { kind: 'image', mimeType: declared };
  const text = isTextType(declared) ? textOf(bytes) : null;
  return text === null ? { kind: 'other' } : { kind: 'text', text };
}

/** `image/PNG; name=a.png` is `image/png`. Programs that do not know the type say nothing, or this; then the name says it. */
export function typeOf({ mimeType, name }: Pick<ChatFile, 'mimeType' | 'name'>): string {
  const type = (mimeType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  return type === '' || type === 'application/octet-stream' ? (fileTypeOf(name) ?? type) : type;
}
