import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';

/** One of the forms that a file has: as it is, or compressed by the build. */
export interface FileForm {
  readonly encoding: 'br' | 'gzip' | null;
  readonly path: string;
  readonly bytes: number;
}

export interface BundleFile {
  readonly contentType: string;
  /** The smallest first; the last one is the file as it is. */
  readonly forms: readonly FileForm[];
}

export interface Bundle {
  /** By the path below `/console/`: `assets/index-4f2a.js`. Nothing else is ever opened, so no path leads out. */
  readonly files: ReadonlyMap<string, BundleFile>;
  /** In memory, because every address of the console is answered with it, and it is tiny. */
  readonly index: ReadonlyMap<FileForm, Buffer>;
  /** Of index.html: another one means another build. */
  readonly changedAt: number;
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

const COMPRESSED = [
  { encoding: 'br', suffix: '.br' },
  { encoding: 'gzip', suffix: '.gz' },
] as const;

const INDEX = 'index.html';

/** Null: the console is not built. */
export async function readBundle(directory: string): Promise<Bundle | null> {
  const changedAt = await indexChangedAt(directory);
  if (changedAt === null) return null;
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const sizes = new Map<string, number>();
  for (const entry of entries) {
    // A link could lead out of the directory; the build makes none. Files with a dot are notes of the build.
    if (!entry.isFile() || entry.name.startsWith('.')) continue;
    const path = join(entry.parentPath, entry.name);
    sizes.set(path, (await stat(path)).size);
  }
  const files = new Map<string, BundleFile>();
  for (const [path, bytes] of sizes) {
    if (COMPRESSED.some(({ suffix }) => path.endsWith(suffix))) continue;
    const forms: FileForm[] = COMPRESSED.flatMap(({ encoding, suffix }) => {
      const compressed = sizes.get(path + suffix);
      return compressed === undefined ? [] : [{ encoding, path: path + suffix, bytes: compressed }];
    });
    const name = relative(directory, path).replaceAll(sep, '/');
    const contentType = TYPES[extname(path)] ?? 'application/octet-stream';
    files.set(name, { contentType, forms: [...forms, { encoding: null, path, bytes }] });
  }
  const index = new Map<FileForm, Buffer>();
  for (const form of files.get(INDEX)?.forms ?? []) index.set(form, await readFile(form.path));
  return { files, index, changedAt };
}

/** Null: there is none. */
export async function indexChangedAt(directory: string): Promise<number | null> {
  try {
    return (await stat(join(directory, INDEX))).mtimeMs;
  } catch {
    return null;
  }
}

/** The smallest form that the client takes. */
export function formFor(forms: readonly FileForm[], acceptEncoding = ''): FileForm {
  const accepted = new Set(
    acceptEncoding.split(',').flatMap((one) => {
      const [name = '', ...parameters] = one.split(';').map((part) => part.trim().toLowerCase());
      return parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)) ? [] : [name];
    }),
  );
  const found = forms.find(({ encoding }) => encoding === null || accepted.has(encoding));
  // Every file has a form without encoding.
  return found as FileForm;
}
