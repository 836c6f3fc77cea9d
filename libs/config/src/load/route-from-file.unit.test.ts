import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type RouteFromFile, routeFromFile } from './route-from-file.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'angelia-route-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

function read(text: string, env: Record<string, string> = {}): RouteFromFile['route'] {
  const path = join(directory, 'angelia.yaml');
  writeFileSync(path, text);
  return routeFromFile('hook', { ...env, ANGELIA_CONFIG: path }).route;
}

/** As the config file writes it. */
const variable = (name: string): string => `\${${name}}`;

describe('one route of the config file', () => {
  it('has its secret from the environment, its scheme and its events', () => {
    const text = `routes: { hook: { secret: "${variable('HOOK')}", auth: github, events: [push] } }`;
    expect(read(text, { HOOK: 's1' })).toMatchObject({ secret: 's1', auth: 'github', events: ['push'] });
  });

  it('needs no variable but its own', () => {
    const text = `targets: { http: { secret: "${variable('ABSENT')}" } }\nroutes: { hook: { secret: s1 }, other: { secret: "${variable('ABSENT')}" } }`;
    expect(read(text)).toMatchObject({ secret: 's1', auth: null, events: [] });
  });

  it('has the first of several secrets, or the secret of the file if it has none', () => {
    expect(read('routes: { hook: { secret: [new, old] } }')?.secret).toBe('new');
    expect(read('secret: all\nroutes: { hook: {} }')?.secret).toBe('all');
    expect(read('routes: { hook: {} }')?.secret).toBeNull();
  });

  it.each(['', 'routes: {}', 'routes: { other: {} }', 'routes: { hook: null }'])('is null in %j', (text) => {
    expect(read(text)).toBeNull();
  });

  it('names a missing variable, and the line of a YAML error', () => {
    expect(() => read(`routes: { hook: { secret: "${variable('ABSENT')}" } }`)).toThrow(
      `routes.hook.secret: the environment variable ABSENT is not set (${join(directory, 'angelia.yaml')}:1:27)`,
    );
    expect(() => read('routes: {')).toThrow('angelia.yaml:1:9: an object is opened with {');
    expect(() => routeFromFile('hook', { ANGELIA_CONFIG: '/nowhere.yaml' })).toThrow('there is no such file');
  });
});
