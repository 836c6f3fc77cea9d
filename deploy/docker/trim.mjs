// Removes from node_modules what no program reads: types and sources (Node loads no TypeScript from there), source maps, and
// the manuals and tests of some packages. That is half of all bytes. Licences stay.
//
//   node trim.mjs <node_modules/.pnpm>

import { existsSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';

const UNREAD_FILE = /\.([cm]?ts|map|md|markdown|flow|tsbuildinfo)$/i;
const LICENCE = /^(licen[cs]e|copying|notice|third.?party)/i;
/** Only beside a package's manifest. Deeper down, such a directory may be part of the program. */
const UNREAD_DIRECTORY = new Set([
  '.github',
  '__tests__',
  'benchmark',
  'benchmarks',
  'docs',
  'example',
  'examples',
  'test',
  'tests',
]);

const [, , store] = process.argv;
if (store === undefined || !existsSync(store)) {
  console.error('usage: node trim.mjs <node_modules/.pnpm>');
  process.exit(1);
}

let bytes = 0;
let files = 0;
await trim(store);
console.log(`trimmed ${files} files, ${(bytes / 1e6).toFixed(1)} MB`);

async function trim(directory, isUnread = false) {
  const entries = await readdir(directory, { withFileTypes: true });
  const isPackage = entries.some((entry) => entry.name === 'package.json');
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await trim(path, isUnread || (isPackage && UNREAD_DIRECTORY.has(entry.name)));
    else if (entry.isFile() && (isUnread || UNREAD_FILE.test(entry.name)) && !LICENCE.test(entry.name)) {
      bytes += (await stat(path)).size;
      files += 1;
      await rm(path);
    }
  }
  if (isUnread && !LICENCE.test(basename(directory))) await rm(directory, { recursive: true });
}
