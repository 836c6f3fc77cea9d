import { imageTypeOf, isImageType, isTextType, textOf } from '@angelia/chats';
import type { ImageType } from '@angelia/contracts';

/** What a file is, by what its sender says and by its bytes. Both must agree: models and people see only one of them. */
export type CheckedFile =
  | { readonly kind: 'image'; readonly mimeType: ImageType; readonly data: string }
  | { readonly kind: 'text'; readonly text: string }
  /** Why it is not taken, for the model and for the person. */
  | { readonly kind: 'refused'; readonly why: string };

export function checkFile(declared: string, bytes: Uint8Array): CheckedFile {
  if (isImageType(declared)) {
    if (imageTypeOf(bytes) !== declared) return refused(`its content is no ${declared}`);
    return { kind: 'image', mimeType: declared, data: Buffer.from(bytes).toString('base64') };
  }
  if (!isTextType(declared)) return refused('it is neither an image nor text');
  const text = textOf(bytes);
  return text === null ? refused('its content is no text') : { kind: 'text', text };
}

/** `image/PNG; name=a.png` is `image/png`. */
export function bareType(mimeType: string | null): string {
  return (mimeType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

function refused(why: string): CheckedFile {
  return { kind: 'refused', why };
}
