// Bundles every program of the workspace from the sources into dist/. It bundles, because Node spends more time on finding
// and linking 1,500 small modules than on running them: a bundled service starts in 0.9 s of CPU instead of 1.5 s, and is
// smaller (docs/adr/0013-bundle.md). `npm run typecheck` checks the types, not this. It is plain JavaScript, because it runs
// before anything is built.
//
//   dist/<program>.js        ingress, migrate, angelia (the command line) ...
//   dist/<name>-<hash>.js    code that several programs share, or that they load later
//   dist/<package>/...       files that programs read at run time: SQL, the demo config
//
// A build without changes must cost almost nothing, because every `npm start` and `npm test` runs it. The manifest of the last
// build (size and mtime of each input) decides, and esbuild is only imported if something changed. Two builds may run at
// once: each output is written beside its final path and renamed, and the manifest comes last.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  assetsBesideSource,
  httpAlone,
  inDist,
  namedExportsOfCommonJs,
  smallerPackages,
  tlsOnDemand,
} from './bundle-plugins.mjs';

const repository = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Everything that runs as a process of its own, in the image too. */
export const programs = {
  ingress: 'services/ingress/src/main.ts',
  'agent-runner': 'services/agent-runner/src/main.ts',
  delivery: 'services/delivery/src/main.ts',
  'process-watcher': 'services/process-watcher/src/main.ts',
  supervisor: 'services/process-watcher/src/supervisor/main.ts',
  migrate: 'libs/event-log/src/commands/migrate.ts',
  import: 'libs/event-log/src/commands/import.ts',
  'check-config': 'libs/config/src/commands/check-config.ts',
  prune: 'libs/service-kit/src/commands/prune.ts',
  rebuild: 'libs/service-kit/src/commands/rebuild.ts',
  angelia: 'libs/cli/src/main.ts',
};

/** The local stack has one program more. It is bundled because stripping types takes memory: 61 MB instead of 100. */
const localPrograms = { ...programs, launcher: 'deploy/local/src/launcher.ts' };

/** Files that a program reads at run time from beside its code. */
const ASSETS = ['libs/event-log/src/sql', 'libs/config/src/load/demo.yaml'];

/**
 * Loaded from node_modules at run time, only if telemetry is on: OpenTelemetry loads its parts by name.
 * pnpm-workspace.yaml makes them reachable from dist/. The bundles hold its API, through which both sides meet.
 */
const LOADED_AT_RUN_TIME = ['@opentelemetry/instrumentation-*', '@opentelemetry/sdk-node'];

/** Packages that Nest and others would use if they were installed. They are not, and we do not need them. */
const NOT_INSTALLED = [
  '@fastify/multipart',
  '@fastify/static',
  '@fastify/view',
  '@grpc/*',
  '@nestjs/platform-express',
  '@nestjs/websockets*',
  'amqp-connection-manager',
  'amqplib',
  'class-transformer*',
  'class-validator',
  'cloudflare:sockets',
  'ioredis',
  'kafkajs',
  'mqtt',
  'nats',
  'pg-native',
];

/** How long a running program may still load a chunk that a newer build no longer has. */
const KEEP_STALE_CHUNKS_MS = 24 * 60 * 60 * 1000;

const MANIFEST = '.build.json';

/**
 * Builds if an input changed.
 * @param {{
 *   root?: string,
 *   programs?: Record<string, string>,
 *   assets?: string[],
 *   log?: (line: string) => void,
 *   bundler?: { bundle(): Promise<import('esbuild').BuildResult> },
 * }} [options] `bundler`: a bundler that stays open between builds (openBundler)
 * @returns {Promise<{ built: boolean, inputs: Record<string, string[]>, stamps: Record<string, string> }>}
 *   `inputs`: the sources of each program; `stamps`: size and last change of each source and asset
 */
export async function build(options = {}) {
  const root = options.root ?? repository;
  const entries = options.programs ?? localPrograms;
  const assets = options.assets ?? ASSETS;
  const dist = join(root, 'dist');
  const recipe = await recipeOf(root, entries, assets);
  const known = await readManifest(dist);
  if (known?.recipe === recipe && (await isCurrent(root, known)))
    return { built: false, inputs: known.inputs, stamps: known.stamps };

  const startedAt = performance.now();
  const bundle = await bundled(root, entries, options.bundler);
  const files = new Set();
  for (const { path, contents } of bundle.outputs) {
    files.add(relative(dist, path));
    // A file that begins with #! is a command.
    const isCommand = Buffer.from(contents.subarray(0, 2)).toString() === '#!';
    if (!(await isSame(path, contents))) await writeAtomically(path, contents);
    if (isCommand) await chmod(path, 0o755);
  }
  const copied = await copyAssets(root, assets, dist);
  for (const { to } of copied) files.add(relative(dist, to));
  await removeStale(dist, files);
  const inputs = bundle.inputs;
  const sources = [...new Set([...Object.values(inputs).flat(), ...copied.map(({ from }) => from)])];
  const stamps = Object.fromEntries(
    await Promise.all(sources.map(async (file) => [file, await stampOf(join(root, file))])),
  );
  const manifest = { recipe, inputs, stamps, files: [...files] };
  await writeAtomically(join(dist, MANIFEST), JSON.stringify(manifest));
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  options.log?.(`built ${Object.keys(entries).length} programs of ${sources.length} files (${seconds} s)`);
  return { built: true, inputs, stamps };
}

/**
 * A bundler that keeps what it parsed, so that a build after a change takes a third of the time. For `npm run dev`.
 * @param {{ root?: string, programs?: Record<string, string> }} [options]
 */
export async function openBundler(options = {}) {
  const { context } = await import('esbuild');
  const opened = await context(bundleOptions(options.root ?? repository, options.programs ?? localPrograms));
  return { bundle: () => opened.rebuild(), close: () => opened.dispose() };
}

/** Part of every program: makes its stack traces name the sources. */
const STACK_TRACES = join(dirname(fileURLToPath(import.meta.url)), 'stack-traces.mjs');

const bundleOptions = (root, entries) => ({
  absWorkingDir: root,
  entryPoints: entries,
  outdir: join(root, 'dist'),
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  // No keepNames: names survive anyway where identifiers are not minified, and setting them cost every closure that a request makes.
  // A program keeps the text of its code in memory as long as it runs, with two bytes per character if a single one (in a
  // comment of a package) is not ASCII: 5.6 MB for a service, 2.3 MB without comments and spaces.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'external',
  sourcemap: 'linked',
  sourcesContent: false,
  metafile: true,
  write: false,
  logLevel: 'silent',
  inject: [STACK_TRACES],
  external: [...LOADED_AT_RUN_TIME, ...NOT_INSTALLED],
  // CommonJS packages inside an ES module still call require for Node's own modules.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
  plugins: [
    assetsBesideSource(root, entries),
    namedExportsOfCommonJs,
    httpAlone,
    tlsOnDemand,
    smallerPackages,
  ],
});

/** Ends esbuild's process, which holds 270 MB and would live as long as the launcher. */
async function bundleOnce(root, entries) {
  const { build: bundle, stop } = await import('esbuild');
  try {
    return await bundle(bundleOptions(root, entries));
  } finally {
    await stop();
  }
}

async function bundled(root, entries, bundler) {
  const result = await (bundler?.bundle() ?? bundleOnce(root, entries)).catch((error) => {
    throw new BuildError(describeErrors(error));
  });
  const inputs = {};
  for (const [output, { entryPoint, inputs: own, imports }] of Object.entries(result.metafile.outputs)) {
    const program = Object.keys(entries).find((name) => entries[name] === entryPoint);
    if (program === undefined) continue;
    const seen = new Set([output]);
    const sources = new Set(Object.keys(own));
    const queue = imports.map(({ path }) => path);
    for (const path of queue) {
      const chunk = result.metafile.outputs[path];
      if (chunk === undefined || seen.has(path)) continue;
      seen.add(path);
      for (const input of Object.keys(chunk.inputs)) sources.add(input);
      queue.push(...chunk.imports.map((one) => one.path));
    }
    inputs[program] = [...sources]
      // Without packages and what a plugin made up (`http-alone:node:http`).
      .filter((file) => !/node_modules\/|^[\w-]+:/.test(file) && join(root, file) !== STACK_TRACES)
      .sort();
  }
  return { outputs: result.outputFiles, inputs };
}

/** A source file cannot be bundled. A retry does not help; the message names the file, the line and the column. */
export class BuildError extends Error {
  code = 'BUILD_FAILED';
}

function describeErrors(error) {
  const errors = error.errors ?? [];
  if (errors.length === 0) return String(error.message ?? error);
  return errors
    .map(({ text, location }) =>
      location === null
        ? text
        : `${location.file}:${location.line}:${location.column + 1}: ${text}\n    ${location.lineText.trim()}`,
    )
    .join('\n');
}

async function copyAssets(root, assets, dist) {
  const copied = [];
  for (const asset of assets) {
    for (const file of await filesUnder(root, asset)) {
      const to = join(dist, inDist(file));
      const contents = await readFile(join(root, file));
      if (!(await isSame(to, contents))) await writeAtomically(to, contents);
      copied.push({ from: file, to });
    }
  }
  return copied;
}

async function filesUnder(root, path) {
  if ((await stat(join(root, path))).isFile()) return [path];
  const entries = await readdir(join(root, path), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** Running programs have their chunks in memory, except those that they load later. */
async function removeStale(dist, files) {
  const entries = await readdir(dist, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(dist, path);
    if (!entry.isFile() || files.has(name) || name === MANIFEST) continue;
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > KEEP_STALE_CHUNKS_MS) await rm(path, { force: true });
  }
}

/** What affects the outputs besides the sources. It includes the names of the assets, because nothing imports those. */
async function recipeOf(root, entries, assets) {
  const hash = createHash('sha256').update(JSON.stringify([entries, process.version]));
  for (const asset of assets) hash.update((await filesUnder(root, asset)).sort().join());
  for (const file of [
    'deploy/local/build.mjs',
    'deploy/local/bundle-plugins.mjs',
    'deploy/local/stack-traces.mjs',
    'pnpm-lock.yaml',
    'tsconfig.json',
  ]) {
    const path = join(root, file);
    if (existsSync(path)) hash.update(readFileSync(path));
  }
  return hash.digest('hex');
}

async function isCurrent(root, { stamps, files }) {
  if (!files.every((file) => existsSync(join(root, 'dist', file)))) return false;
  const now = await Promise.all(Object.keys(stamps).map((file) => stampOf(join(root, file))));
  return Object.values(stamps).every((stamp, index) => stamp === now[index]);
}

async function stampOf(path) {
  try {
    const { size, mtimeMs } = await stat(path);
    return `${size}:${mtimeMs}`;
  } catch {
    return 'absent';
  }
}

async function readManifest(dist) {
  try {
    return JSON.parse(await readFile(join(dist, MANIFEST), 'utf8'));
  } catch {
    return null; // missing or incomplete: build again
  }
}

async function isSame(path, contents) {
  try {
    return (await readFile(path)).equals(contents);
  } catch {
    return false;
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
    await build({ programs, log: (line) => console.log(`angelia: ${line}`) });
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    console.error(`angelia: ${error.message}`);
    process.exitCode = 1;
  }
}
