import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BuildError, build as buildAt } from './build.mjs';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'angelia-build-'));
  write('tsconfig.json', '{ "compilerOptions": { "experimentalDecorators": true } }');
  write('services/a/src/main.ts', "import { answer } from './deep/answer.ts';\nconsole.log(answer());\n");
  write('services/b/src/main.ts', 'console.log("b");\n');
  write(
    'services/a/src/deep/answer.ts',
    "import { readFileSync } from 'node:fs';\n" +
      "export const answer = (): string => readFileSync(new URL('./answer.sql', import.meta.url), 'utf8');\n",
  );
  write('services/a/src/deep/answer.sql', 'SELECT 1');
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const programs = { a: 'services/a/src/main.ts', b: 'services/b/src/main.ts' };
const build = () => buildAt({ root, programs, assets: ['services/a/src/deep/answer.sql'] });
const at = (path: string): string => join(root, path);
const run = (path: string): string => execFileSync(process.execPath, [at(path)], { encoding: 'utf8' }).trim();

/** The pids of running esbuild processes that this process started. */
function bundlersOfOurs(): string[] {
  return execFileSync('ps', ['-A', '-o', 'ppid=,pid=,stat=,comm='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([parent, , state, program]) =>
        parent === String(process.pid) && !state?.startsWith('Z') && program?.endsWith('esbuild'),
    )
    .map(([, pid = '']) => pid);
}

function write(path: string, content: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), content);
}

describe('a build', () => {
  it('makes programs that run, with the files that they read beside their sources', async () => {
    expect(await build()).toMatchObject({ built: true });
    expect(run('dist/a.js')).toBe('SELECT 1');
    expect(run('dist/b.js')).toBe('b');
    expect(existsSync(at('dist/a.js.map'))).toBe(true);
  });

  it('also finds those files from code that programs share', async () => {
    write(
      'services/b/src/main.ts',
      "import { answer } from '../../a/src/deep/answer.ts';\nconsole.log(answer());\n",
    );
    await build();
    expect(run('dist/a.js')).toBe('SELECT 1');
    expect(run('dist/b.js')).toBe('SELECT 1');
  });

  it('keeps the named exports of a CommonJS package that is imported later, as in Node', async () => {
    write('node_modules/old/package.json', '{ "name": "old", "main": "index.js" }');
    write('node_modules/old/index.js', 'exports.answer = 42; exports["not a name"] = 1;');
    write(
      'services/b/src/main.ts',
      `const old = await ${'import'}('old');\nconsole.log(old.answer, old.default.answer);\n`,
    );
    await build();
    expect(run('dist/b.js')).toBe('42 42');
  });

  it('makes a file that begins with #! executable', async () => {
    write('services/b/src/main.ts', '#!/usr/bin/env node\nconsole.log("called");\n');
    await build();
    expect(execFileSync(at('dist/b.js'), { encoding: 'utf8' })).toBe('called\n');
  });

  it('returns the sources of each program', async () => {
    expect((await build()).inputs).toEqual({
      a: ['services/a/src/deep/answer.ts', 'services/a/src/main.ts'],
      b: ['services/b/src/main.ts'],
    });
  });

  it('does nothing if nothing changed, and rewrites only outputs that differ', async () => {
    await build();
    const before = statSync(at('dist/b.js')).mtimeMs;
    expect(await build()).toMatchObject({ built: false });
    write('services/a/src/deep/answer.ts', "export const answer = () => 'changed';\n");
    expect(await build()).toMatchObject({ built: true });
    expect(run('dist/a.js')).toBe('changed');
    expect(statSync(at('dist/b.js')).mtimeMs).toBe(before);
  });

  it('notices a changed asset and a deleted output', async () => {
    await build();
    write('services/a/src/deep/answer.sql', 'SELECT 22');
    expect(await build()).toMatchObject({ built: true });
    expect(run('dist/a.js')).toBe('SELECT 22');
    rmSync(at('dist/b.js'));
    expect(await build()).toMatchObject({ built: true });
    expect(run('dist/b.js')).toBe('b');
  });

  it('keeps files that a running program may still load, and removes them a day later', async () => {
    await build();
    write('dist/old-ABC.js', '');
    write('dist/older-ABC.js', '');
    const dayBeforeYesterday = new Date(Date.now() - 48 * 60 * 60 * 1000);
    utimesSync(at('dist/older-ABC.js'), dayBeforeYesterday, dayBeforeYesterday);
    write('services/b/src/main.ts', 'console.log("bb");\n');
    await build();
    expect(readdirSync(at('dist')).filter((name) => name.startsWith('old'))).toEqual(['old-ABC.js']);
  });

  it('leaves no bundler running, whether it succeeds or fails', async () => {
    // Those of another test may be about to end.
    const before = new Set(bundlersOfOurs());
    const ours = () => bundlersOfOurs().filter((pid) => !before.has(pid));
    await build();
    expect(ours()).toEqual([]);
    write('services/b/src/main.ts', 'const = ;\n');
    await expect(build()).rejects.toThrow(BuildError);
    expect(ours()).toEqual([]);
  });

  it('names the file, line and column of a syntax error', async () => {
    write('services/b/src/main.ts', 'console.log(1);\nconst = ;\n');
    await expect(build()).rejects.toThrow(BuildError);
    await expect(build()).rejects.toThrow('services/b/src/main.ts:2:7: Expected identifier');
  });

  it('makes programs whose stack traces name the sources', async () => {
    write(
      'services/b/src/main.ts',
      'interface Erased {}\n\nfunction fail(): Erased {\n  throw new TypeError("wrong");\n}\n' +
        'try {\n  fail();\n} catch (error) {\n  console.log((error as Error).stack);\n}\n',
    );
    await build();
    const source = at('services/b/src/main.ts');
    expect(run('dist/b.js').split('\n').slice(0, 3)).toEqual([
      'TypeError: wrong',
      `    at fail (${source}:4:9)`,
      `    at ${source}:7:3`,
    ]);
  });

  it('makes programs that read no maps for the errors by which undici ends connections', async () => {
    const end = "throw Object.assign(new Error('idle'), { code: 'UND_ERR_INFO' });";
    write(
      'services/b/src/main.ts',
      `function end() {\n  ${end}\n}\ntry {\n  end();\n} catch (error) {\n  console.log((error as Error).stack);\n}\n`,
    );
    await build();
    expect(run('dist/b.js').split('\n')[1]).toContain(`(${pathToFileURL(at('dist/b.js'))}:`);
  });

  it('keeps decorators with injected parameters and the names of classes', async () => {
    write(
      'services/b/src/main.ts',
      'const given: string[] = [];\n' +
        'const Inject = (token: string): ParameterDecorator => () => void given.push(token);\n' +
        'class Service { constructor(@Inject("x") readonly x: string) {} }\n' +
        'console.log(Service.name, given.join());\n',
    );
    await build();
    expect(run('dist/b.js')).toBe('Service x');
  });
});
