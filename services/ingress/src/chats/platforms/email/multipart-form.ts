/** `multipart/form-data` (RFC 7578), as far as providers of mail post it. The body is bounded before it gets here. */
export interface FormPart {
  readonly name: string;
  /** Null: a field, not a file. */
  readonly filename: string | null;
  readonly type: string | null;
  readonly content: Buffer;
}

/** A mail with many files has a part for each of them, and some thirty fields. */
const MOST_PARTS = 200;

/** Null: not such a form. */
export function readForm(contentType: string, body: Buffer): readonly FormPart[] | null {
  const [, quoted, plain] =
    /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType) ??
    [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return null;
  const mark = Buffer.from(`--${boundary}`);
  const parts: FormPart[] = [];
  let at = body.indexOf(mark);
  while (at !== -1 && parts.length < MOST_PARTS) {
    const start = at + mark.length;
    if (body.toString('latin1', start, start + 2) === '--') return parts;
    const end = body.indexOf(Buffer.concat([Buffer.from('\r\n'), mark]), start);
    if (end === -1) return null;
    const part = partOf(body.subarray(start, end));
    if (part !== null) parts.push(part);
    at = end + 2;
  }
  return null;
}

function partOf(bytes: Buffer): FormPart | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const head = bytes.toString('utf8', 0, end);
  const disposition = /^content-disposition:\s*form-data;(.*)$/im.exec(head)?.[1] ?? '';
  const parameter = (name: string) =>
    new RegExp(`(?:^|[;\\s])${name}="((?:[^"\\\\]|\\\\.)*)"`, 'i')
      .exec(disposition)?.[1]
      ?.replaceAll(/\\(.)/g, '$1')
      .replaceAll('%22', '"') ?? null;
  const name = parameter('name');
  if (name === null) return null;
  return {
    name,
    filename: parameter('filename'),
    type: /^content-type:\s*([^\s;]+)/im.exec(head)?.[1]?.toLowerCase() ?? null,
    content: bytes.subarray(end + 4),
  };
}
