import { randomUUID } from 'node:crypto';

interface FormFile {
  readonly field: string;
  /** Without quotes and line ends, as OutboundFile says. */
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** A form with one file (RFC 7578). Written as a whole: files are a few megabytes at most, and a length is wanted. */
export function multipart(
  fields: Readonly<Record<string, string | number | boolean>>,
  { field, name, type, bytes }: FormFile,
): { readonly contentType: string; readonly body: Uint8Array } {
  // Random, so that no file can hold it.
  const boundary = `angelia-${randomUUID()}`;
  const part = (disposition: string, more = '') =>
    `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n${more}\r\n`;
  const before = Object.entries(fields).map(([key, value]) => `${part(`name="${key}"`)}${value}\r\n`);
  const head = part(`name="${field}"; filename="${name}"`, `content-type: ${type}\r\n`);
  const body = Buffer.concat([
    Buffer.from(before.join('') + head),
    bytes,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  return { contentType: `multipart/form-data; boundary=${boundary}`, body };
}
