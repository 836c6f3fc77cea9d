// Bundles the console into libs/console/dist, which ingress serves: index.html and assets/ with a hash in every name, each
// also as .br and .gz. It is plain JavaScript, because it runs before anything is built.
//
// Every `npm start` and `npm test` calls it. A hash over everything that the bundle is made of decides, so that a build
// without changes costs a few milliseconds, and Vite is only loaded if something changed. Two builds may run at once, and an
// ingress may read meanwhile: each file is written beside its final path and renamed, index.html comes after the files that
// it names, and the hash comes last.

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { initialScripts } from './initial-scripts.mjs';
import { inlineCode } from './inline-code.mjs';

const here = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(here, 'dist');
const STAMP = '.build.json';

/** What a first visit may load of JavaScript, gzipped (issue 19). Charts and editors are loaded when they are opened. */
export const INITIAL_SCRIPTS_LIMIT = 200_000;

/** How long an open page may still load a part of an older build. */
const KEEP_STALE_MS = 24 * 60 * 60 * 1000;

/** The sources do not build, or the bundle is too large. A retry does not help. */
export class ConsoleBuildError extends Error {
  code = 'CONSOLE_BUILD_FAILED';
}

/**
 * Builds if an input changed.
 * @param {{ log?: (line: string) => void }} [options]
 * @returns {Promise<{ built: boolean }>}
 * @throws {ConsoleBuildError}
 */
export async function buildConsole(options = {}) {
  const inputs = await hashOfInputs();
  if ((await readStamp())?.inputs === inputs) return { built: false };
  const startedAt = performance.now();
  const outputs = await bundled();
  const scripts = initialScripts(JSON.parse(textOf(outputs, '.vite/manifest.json')));
  const inline = inlineCode(textOf(outputs, 'index.html'));
  if (inline.length > 0)
    throw new ConsoleBuildError(
      `the console's page has what its content security policy forbids: ${inline.join(' ')}`,
    );
  const compressed = await Promise.all(
    outputs
      .filter(({ fileName }) => !fileName.startsWith('.vite/'))
      .map(async ({ fileName, contents }) => ({ fileName, contents, ...(await compress(contents)) })),
  );
  const initial = compressed
    .filter(({ fileName }) => scripts.includes(fileName))
    .reduce((sum, { gz }) => sum + gz.length, 0);
  if (initial > INITIAL_SCRIPTS_LIMIT) throw new ConsoleBuildError(tooLarge(initial, scripts));
  // index.html last: it names the others.
  const ordered = compressed.toSorted((a, b) => Number(isPage(a)) - Number(isPage(b)));
  const files = new Set([STAMP]);
  for (const { fileName, contents, br, gz } of ordered) {
    for (const [name, bytes] of [
      [`${fileName}.br`, br],
      [`${fileName}.gz`, gz],
      [fileName, contents],
    ]) {
      files.add(name);
      await writeAtomically(join(dist, name), bytes);
    }
  }
  await removeStale(files);
  const stamp = { inputs, initial_scripts: scripts, initial_scripts_gzip_bytes: initial };
  await writeAtomically(join(dist, STAMP), JSON.stringify(stamp));
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  options.log?.(
    `built the console: ${Math.ceil(initial / 1000)} kB of scripts at first, gzipped (${seconds} s)`,
  );
  return { built: true };
}

const isPage = ({ fileName }) => fileName === 'index.html';

const tooLarge = (bytes, scripts) =>
  `the console's first scripts have ${bytes} bytes gzipped, and may have ${INITIAL_SCRIPTS_LIMIT}: ` +
  `load a part of them when it is opened (${scripts.join(', ')})`;

async function bundled() {
  const { build } = await import('vite');
  const result = await build({
    configFile: join(here, 'vite.config.mjs'),
    logLevel: 'error',
    build: { write: false },
  }).catch((error) => {
    throw new ConsoleBuildError(String(error.message ?? error));
  });
  return [result]
    .flat()
    .flatMap(({ output }) => output)
    .map((file) => ({
      fileName: file.fileName,
      contents: Buffer.from(file.type === 'chunk' ? file.code : file.source),
    }));
}

function textOf(outputs, name) {
  const found = outputs.find(({ fileName }) => fileName === name);
  if (found === undefined) throw new ConsoleBuildError(`Vite made no ${name}`);
  return found.contents.toString('utf8');
}

async function compress(contents) {
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(contents, {
      params: { [constants.BROTLI_PARAM_SIZE_HINT]: contents.length },
    }),
    promisify(gzip)(contents, { level: 9 }),
  ]);
  return { br, gz };
}

/** Everything that the bundle is made of: the sources, how they are bundled, and the versions of packages. */
async function hashOfInputs() {
  const hash = createHash('sha256').update(process.version);
  const lock = join(here, '../../pnpm-lock.yaml');
  const files = [
    ...(await filesUnder(join(here, 'src'))).filter((file) => !file.endsWith('.test.ts')),
    ...(await filesUnder(join(here, 'build'))).filter((file) => !file.endsWith('.test.ts')),
    ...['index.html', 'package.json', 'tsconfig.json', 'vite.config.mjs'].map((name) => join(here, name)),
    lock,
  ];
  for (const file of files.toSorted()) {
    const contents = await readFile(file).catch(() => '');
    hash
      .update(relative(here, file))
      .update('\0')
      .update(String(contents.length))
      .update('\0')
      .update(contents);
  }
  return hash.digest('hex');
}

async function filesUnder(directory) {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function readStamp() {
  try {
    const stamp = JSON.parse(await readFile(join(dist, STAMP), 'utf8'));
    await stat(join(dist, 'index.html'));
    return stamp;
  } catch {
    return null; // missing or incomplete: build again
  }
}

async function removeStale(files) {
  for (const path of await filesUnder(dist)) {
    if (files.has(relative(dist, path))) continue;
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > KEEP_STALE_MS) await rm(path, { force: true });
  }
}

let temporaries = 0;

async function writeAtomically(path, contents) {
  const temporary = `${path}.tmp-${process.pid}-${temporaries++}`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(temporary, contents);
  await rename(temporary, path);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    // For the image, which has no launcher.
    await buildConsole({ log: (line) => console.log(`angelia: ${line}`) });
  } catch (error) {
    if (!(error instanceof ConsoleBuildError)) throw error;
    console.error(`angelia: ${error.message}`);
    process.exitCode = 1;
  }
}
