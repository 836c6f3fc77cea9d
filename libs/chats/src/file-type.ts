import { type ImageType, imageTypes } from '@angelia/contracts';

/** The types of files that people send and receive, by the extension of the file name. */
const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  txt: 'text/plain',
  log: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  html: 'text/html',
  diff: 'text/x-diff',
  patch: 'text/x-patch',
  json: 'application/json',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  toml: 'application/toml',
  sql: 'application/sql',
  svg: 'image/svg+xml',
  pdf: 'application/pdf',
  zip: 'application/zip',
};

/** Null: the name tells no type. */
export function fileTypeOf(name: string): string | null {
  const [, ending] = /\.([a-z0-9]+)$/i.exec(name) ?? [];
  const type = ending?.toLowerCase() ?? '';
  return Object.hasOwn(TYPES, type) ? (TYPES[type] ?? null) : null;
}

export function isImageType(type: string): type is ImageType {
  return (imageTypes as readonly string[]).includes(type);
}

const OTHER_TEXT = /^application\/(?:json|xml|yaml|x-yaml|toml|sql|x-sh|javascript|[\w.-]+\+(?:json|xml))$/;

export function isTextType(type: string): boolean {
  return type.startsWith('text/') || OTHER_TEXT.test(type);
}

/** The type that the first bytes of the file show; null: not a type that models take. */
export function imageTypeOf(bytes: Uint8Array): ImageType | null {
  const begin = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  if (begin.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (begin.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(begin)) return 'image/gif';
  return begin.startsWith('RIFF') && begin.slice(8) === 'WEBP' ? 'image/webp' : null;
}

/** Null: the bytes are not text. */
export function textOf(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}

/**
 * The sender chooses the name and the type, and people open a file by them. So the content must match. A type without known
 * first bytes is not checked.
 */
export function contentIs(type: string, bytes: Uint8Array): boolean {
  if (isImageType(type)) return imageTypeOf(bytes) === type;
  if (isTextType(type) || type === 'image/svg+xml') return textOf(bytes) !== null;
  const begin = Buffer.from(bytes.subarray(0, 5)).toString('latin1');
  if (type === 'application/pdf') return begin === '%PDF-';
  if (type === 'application/gzip') return begin.startsWith('\x1f\x8b');
  // Office documents are archives of this kind, too.
  const isZip = /^application\/(?:zip|vnd\.(?:openxmlformats-officedocument|oasis\.opendocument)\..+)$/;
  return !isZip.test(type) || begin.startsWith('PK');
}
