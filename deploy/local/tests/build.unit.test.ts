import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BuildError, build } from '../build.mjs';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'angelia-build-'));
  write('libs/a/package.json', '{}');
  write('libs/a/src/index.ts', "import { b } from './deep/b.ts';\nexport const a: number = b;\n");
  write('libs/a/src/deep/b.ts', 'export const b = 1;\n');
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8');

describe('a build', () => {
  it('compiles each file beside its source map and points imports at what it wrote', async () => {
    expect(await build({ root })).toEqual({ compiled: 2, copied: 0, removed: 0 });
    expect(read('libs/a/dist/index.js')).toMatch(/from ["']\.\/deep\/b\.js["']/);
    expect(existsSync(join(root, 'libs/a/dist/index.js.map'))).toBe(true);
  });

  it('copies what the program reads at run time, and leaves tests out', async () => {
    write('libs/a/src/sql/001_first.sql', 'SELECT 1;\n');
    write('libs/a/src/index.unit.test.ts', 'throw 1;\n');
    await build({ root });
    expect(read('libs/a/dist/sql/001_first.sql')).toBe('SELECT 1;\n');
    expect(existsSync(join(root, 'libs/a/dist/index.unit.test.js'))).toBe(false);
  });

  it('touches nothing when nothing changed, and only what changed when something did', async () => {
    await build({ root });
    const before = statSync(join(root, 'libs/a/dist/index.js')).mtimeMs;
    expect(await build({ root })).toEqual({ compiled: 0, copied: 0, removed: 0 });
    write('libs/a/src/deep/b.ts', 'export const b = 22;\n');
    expect(await build({ root })).toEqual({ compiled: 1, copied: 0, removed: 0 });
    expect(read('libs/a/dist/deep/b.js')).toContain('22');
    expect(statSync(join(root, 'libs/a/dist/index.js')).mtimeMs).toBe(before);
  });

  it('removes what has no source any more', async () => {
    await build({ root });
    rmSync(join(root, 'libs/a/src/deep'), { recursive: true });
    expect(await build({ root })).toMatchObject({ removed: 2 });
    expect(existsSync(join(root, 'libs/a/dist/deep/b.js'))).toBe(false);
  });

  it('makes again what someone deleted', async () => {
    await build({ root });
    rmSync(join(root, 'libs/a/dist/index.js'));
    expect(await build({ root })).toMatchObject({ compiled: 1 });
  });

  it('names the file that does not compile', async () => {
    write('libs/a/src/broken.ts', 'const = ;\n');
    await expect(build({ root })).rejects.toThrow(BuildError);
    await expect(build({ root })).rejects.toThrow('libs/a/src/broken.ts does not compile');
  });

  it('keeps decorators with injected parameters working', async () => {
    write(
      'libs/a/src/nest.ts',
      'declare const I: (t: string) => ParameterDecorator; declare const D: ClassDecorator;\n@D\nexport class S { constructor(@I("x") private readonly x: string) {} }\n',
    );
    await build({ root });
    expect(read('libs/a/dist/nest.js')).toContain('_ts_param(0');
  });
});
