import PostalMime from 'postal-mime';
import type { InboundMail, MailFile } from './inbound-mail.ts';

/** Mail programs nest three or four parts. Deeper nesting is an attack. */
const DEEPEST = 20;
const MOST_HEADERS = 256 * 1024;
const MOST_FILES = 20;

/**
 * @param cut only the beginning of the mail was read, so its files are not whole
 * @throws Error if it is nested too deep, or has too many headers
 */
export async function parseMime(
  raw: Uint8Array,
  receivedAtMs: number,
  { cut }: { readonly cut: boolean },
): Promise<InboundMail> {
  const mail = await PostalMime.parse(raw, {
    maxNestingDepth: DEEPEST,
    maxHeadersSize: MOST_HEADERS,
    attachmentEncoding: 'arraybuffer',
  });
  return {
    headers: mail.headers.map(({ key, value }) => ({ key: key.toLowerCase(), value })),
    text: mail.text ?? null,
    html: mail.html ?? null,
    files: mail.attachments.slice(0, MOST_FILES).map((attachment): MailFile => {
      const content =
        typeof attachment.content === 'string'
          ? Buffer.from(attachment.content)
          : new Uint8Array(attachment.content);
      return {
        name: attachment.filename ?? 'file',
        mimeType: attachment.mimeType,
        bytes: content.length,
        content: cut ? null : content,
      };
    }),
    receivedAtMs,
  };
}
