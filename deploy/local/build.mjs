// Compiles every workspace package, src/**/*.ts -> dist/**/*.js, one file at a time (types are checked by
// `npm run verify`, not here). Plain JavaScript, because it runs before anything is compiled.
//
// A build that changes nothing must cost next to nothing, as every `npm start` and `npm test` runs it: the
// manifest of the last build (size and mtime of each source) decides what is compiled, and @swc/core (80 ms to
// load) is only imported when something is. Two builds may run at once: each output is written beside its place
// and renamed into it, and the manifest is written last.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Files that the program reads at run time from beside its code. */
const ASSET = /\.(sql|yaml|html|json)$/;
const SOURCE = /\.ts$/;
const NOT_SHIPPED = /(\.test\.ts|\.d\.ts)$/;

/** The compiler's options: part of the manifest, so that a change of them rebuilds everything. */
const swcOptions = {
  swcrc: false,
  configFile: false,
  sourceMaps: true,
  module: { type: 'es6' },
  jsc: {
    target: 'es2023',
    parser: { syntax: 'typescript', decorators: true },
    // No decoratorMetadata: Nest injection is explicit everywhere (@Inject), so nothing reads it.
    transform: { legacyDecorator: true },
    rewriteRelativeImportExtensions: true,
    keepClassNames: true,
  },
};

/**
 * Builds what changed.
 * @param {{ root?: string, log?: (line: string) => void }} [options]
 * @returns {Promise<{ compiled: number, copied: number, removed: number }>}
 */
export async function build(options = {}) {
  const base = options.root ?? root;
  const packages = await workspacePackages(base);
  const recipe = createHash('sha256')
    .update(JSON.stringify(swcOptions) + process.version + compilerVersion(base))
    .digest('hex');
  const results = await Promise.all(packages.map((dir) => buildPackage(base, dir, recipe)));
  const total = { compiled: 0, copied: 0, removed: 0 };
  for (const result of results) {
    total.compiled += result.compiled;
    total.copied += result.copied;
    total.removed += result.removed;
  }
  if (total.compiled + total.copied + total.removed > 0) {
    options.log?.(`built ${total.compiled} files (${total.copied} copied, ${total.removed} stale removed)`);
  }
  return total;
}

async function workspacePackages(base) {
  const found = [];
  for (const parent of ['libs', 'services']) {
    for (const name of await readdir(join(base, parent)).catch(() => []))
      found.push(join(base, parent, name));
  }
  found.push(join(base, 'deploy', 'local'));
  return found.filter((dir) => existsSync(join(dir, 'src')) && existsSync(join(dir, 'package.json')));
}

async function buildPackage(base, dir, recipe) {
  const src = join(dir, 'src');
  const dist = join(dir, 'dist');
  const manifestPath = join(dist, '.build.json');
  const known = await readManifest(manifestPath, recipe);
  const sources = await listFiles(src);
  const outputs = new Set(await listFiles(dist));
  const files = {};
  const wanted = new Set(['.build.json']);
  const work = [];
  let changed = false;

  for (const file of sources) {
    const compile = SOURCE.test(file);
    if (NOT_SHIPPED.test(file) || (!compile && !ASSET.test(file))) continue;
    const { size, mtimeMs } = await stat(join(src, file));
    const stamp = `${size}:${mtimeMs}`;
    const out = compile ? file.replace(SOURCE, '.js') : file;
    wanted.add(out);
    if (compile) wanted.add(`${out}.map`);
    files[file] = stamp;
    if (known[file] === stamp && outputs.has(out)) continue;
    work.push({ file, out, compile });
  }
  for (const { file, out, compile } of work) {
    changed = true;
    await mkdir(dirname(join(dist, out)), { recursive: true });
    if (compile) await compileFile(base, join(src, file), join(dist, out));
    else await writeAtomically(join(dist, out), await readFile(join(src, file)));
  }
  const stale = [...outputs].filter((file) => !wanted.has(file) && !isTemporary(file));
  for (const file of stale) await rm(join(dist, file), { force: true });
  if (changed || stale.length > 0 || Object.keys(known).length !== Object.keys(files).length) {
    await mkdir(dist, { recursive: true });
    await writeAtomically(manifestPath, JSON.stringify({ recipe, files }));
  }
  return {
    compiled: work.filter((item) => item.compile).length,
    copied: work.filter((item) => !item.compile).length,
    removed: stale.length,
  };
}

async function compileFile(base, from, to) {
  const { transform } = await import('@swc/core');
  const code = await readFile(from, 'utf8');
  const output = await transform(code, {
    ...swcOptions,
    filename: from,
    sourceFileName: relative(dirname(to), from),
  }).catch((error) => {
    throw new BuildError(`${relative(base, from)} does not compile:\n${error.message}`);
  });
  const map = `${to}.map`;
  if (output.map) await writeAtomically(map, output.map);
  await writeAtomically(
    to,
    `${output.code}//# sourceMappingURL=${map.slice(map.lastIndexOf('/') + 1)}\n`,
    // What begins with #! is there to be called by its name.
    output.code.startsWith('#!') ? 0o755 : 0o644,
  );
}

/** A source file that is not TypeScript. No retry helps; the message names the file and the place. */
export class BuildError extends Error {
  code = 'BUILD_FAILED';
}

async function readManifest(path, recipe) {
  try {
    const manifest = JSON.parse(await readFile(path, 'utf8'));
    return manifest.recipe === recipe ? manifest.files : {};
  } catch {
    return {}; // absent or torn: build everything again
  }
}

function compilerVersion(base) {
  try {
    return JSON.parse(readFileSync(join(base, 'node_modules/@swc/core/package.json'), 'utf8')).version;
  } catch {
    return 'none';
  }
}

async function listFiles(dir) {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)));
}

const isTemporary = (file) => /\.tmp-\d+-\d+$/.test(file);
let temporaries = 0;

async function writeAtomically(path, content, mode = 0o644) {
  const temporary = `${path}.tmp-${process.pid}-${temporaries++}`;
  await writeFile(temporary, content, { mode });
  await rename(temporary, path);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await build({ log: (line) => console.log(`angelia: ${line}`) });
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    console.error(`angelia: ${error.message}`);
    process.exitCode = 1;
  }
}
