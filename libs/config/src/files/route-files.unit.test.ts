import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '@angelia/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '../load/load.ts';
import { resolvePaths } from '../load/resolve-paths.ts';
import { routeFileProblems } from './route-files.ts';
import { findScript } from './script-file.ts';
import { readSkill } from './skill-file.ts';

const base = mkdtempSync(join(tmpdir(), 'angelia-files-'));
const scripts = join(base, 'scripts');
const skills = join(base, 'skills');

function file(path: string, text: string | Buffer, mode = 0o644): string {
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

beforeAll(() => {
  for (const directory of [
    scripts,
    join(scripts, 'sub'),
    skills,
    join(skills, 'review'),
    join(base, 'scripts-2'),
  ]) {
    mkdirSync(directory);
  }
  file(join(scripts, 'good.py'), '#!/usr/bin/env python3\n', 0o755);
  file(join(scripts, 'sub', 'good.sh'), '#!/bin/sh\n', 0o755);
  file(join(scripts, 'plain.py'), '#!/usr/bin/env python3\n');
  file(join(scripts, 'no-line.sh'), 'echo hi\n', 0o755);
  file(join(scripts, 'empty'), '', 0o755);
  file(join(base, 'outside.sh'), '#!/bin/sh\n', 0o755);
  file(join(base, 'scripts-2', 'sibling.sh'), '#!/bin/sh\n', 0o755);
  symlinkSync(join(base, 'outside.sh'), join(scripts, 'link.sh'));
  symlinkSync(join(scripts, 'good.py'), join(scripts, 'inner-link'));
  symlinkSync(base, join(scripts, 'up'));
  file(join(skills, 'tone.md'), 'Be brief.\n');
  file(join(skills, 'review', 'SKILL.md'), '\uFEFFLook at the tests first.');
  file(join(skills, 'huge.md'), 'x'.repeat(70_000));
  file(join(skills, 'empty.md'), ' \n');
  file(join(skills, 'binary.md'), Buffer.from([0xff, 0xfe, 0x00]));
  file(join(base, 'secret.md'), 'a secret');
  symlinkSync(join(base, 'secret.md'), join(skills, 'leak.md'));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

describe('a script', () => {
  it.each(['good.py', 'sub/good.sh', './sub/../good.py', 'inner-link', join(scripts, 'good.py')])(
    'is found inside of its directory: %s',
    (name) => {
      expect(findScript(scripts, name)).toEqual({ path: expect.stringContaining('good.') });
    },
  );

  it.each([
    ['../outside.sh', 'is outside'],
    ['../scripts-2/sibling.sh', 'is outside'],
    ['link.sh', 'is outside'],
    ['up/outside.sh', 'is outside'],
    ['/bin/sh', 'is outside'],
    ['.', 'is outside'],
    ['sub', 'is not a file'],
    ['missing.sh', 'there is no file'],
    ['plain.py', 'is not executable'],
    ['no-line.sh', '#! line'],
    ['empty', '#! line'],
  ])('is refused: %s', (name, reason) => {
    expect(findScript(scripts, name)).toEqual({ reason: expect.stringContaining(reason) });
  });

  it('is refused if the directory does not exist', () => {
    expect(findScript(join(base, 'nowhere'), 'good.py')).toEqual({
      reason: expect.stringContaining('there is no directory'),
    });
  });
});

describe('a skill', () => {
  it('is a file with its name, or in a folder with its name', () => {
    expect(readSkill(skills, 'tone')).toBe('Be brief.');
    expect(readSkill(skills, 'review')).toBe('Look at the tests first.');
  });

  it.each([
    ['nope', 'there is no file nope.md'],
    ['leak', 'is outside'],
    ['huge', 'at most 65536'],
    ['empty', 'is empty'],
    ['binary', 'not UTF-8'],
  ])('is refused: %s', (name, reason) => {
    expect(() => readSkill(skills, name)).toThrow(reason);
  });
});

describe('a route', () => {
  it('reports all missing files with their places', () => {
    const parsed = parseConfig({
      directories: { scripts, skills },
      routes: {
        r: {
          script: 'missing.sh',
          skills: ['tone', 'nope'],
          filters: [{ any: [{ not: { field: 'a', in_file: join(base, 'gone.txt') } }] }],
        },
        good: {
          script: 'good.py',
          skills: ['tone'],
          filters: [{ field: 'a', in_file: join(base, 'secret.md') }],
        },
      },
    });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    const { routes, directories } = parsed.config;
    const placesOf = (name: string) =>
      routeFileProblems(name, routes[name] as NonNullable<(typeof routes)[string]>, directories).map(
        ({ place }) => place,
      );
    expect(placesOf('r')).toEqual([
      'routes.r.script',
      'routes.r.skills.1',
      'routes.r.filters.0.any.0.not.in_file',
    ]);
    expect(placesOf('good')).toEqual([]);
  });

  it('finds its files relative to the config file', () => {
    const text = `directories: { scripts: ./scripts, skills: /srv/skills }
models: { echo: { provider: builtin, model: echo } }
agents: { default: { model: echo } }
mcp_servers: { here: { command: x }, below: { command: x, cwd: tools }, far: { url: 'https://example.com' } }
routes: { r: { secret: s3cret, filters: [{ all: [{ field: a, in_file: list.txt }, { not: { field: b, in_file: ~/w } }] }] } }
`;
    const { config } = loadConfig({ ANGELIA_CONFIG: file(join(base, 'angelia.yaml'), text) });
    expect(config.directories).toMatchObject({ scripts, skills: '/srv/skills' });
    expect(Object.values(config.mcp_servers).map(({ cwd }) => cwd)).toEqual([
      base,
      join(base, 'tools'),
      undefined,
    ]);
    expect(config.routes.r?.filters).toEqual([
      {
        all: [
          { field: 'a', in_file: join(base, 'list.txt') },
          { not: { field: 'b', in_file: join(homedir(), 'w') } },
        ],
      },
    ]);
    expect(resolvePaths(config, '/elsewhere')).toEqual(config);
  });
});
