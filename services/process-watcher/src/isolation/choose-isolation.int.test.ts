import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '@angelia/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chooseIsolation } from './choose-isolation.ts';
import { findProgramIn } from './find-program.ts';

let data: string;
beforeAll(async () => {
  data = await mkdtemp(join(tmpdir(), 'angelia-choose-'));
  await chmod(data, 0o755);
  await mkdir(join(data, 'processes'));
});
afterAll(() => rm(data, { recursive: true }));

const TERMINAL = { worker: { model: 'main', toolsets: ['terminal'] } };
const PROGRAM = { worker: { kind: 'command', command: ['/srv/agent'], cwd: '/srv' } };

function choose(
  agents: Readonly<Record<string, unknown>>,
  processWatcher: Readonly<Record<string, unknown>>,
  { separateUsers, path }: { readonly separateUsers: boolean; readonly path?: string },
) {
  const parsed = parseConfig({
    models: { main: { provider: 'builtin', model: 'echo' } },
    agents,
    process_watcher: processWatcher,
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return chooseIsolation({
    config: parsed.config,
    users: { separateUsers },
    directories: { root: join(data, 'processes'), workElsewhere: undefined },
    dataDirectory: data,
    configFile: null,
    ...(path === undefined ? {} : { find: findProgramIn(path, []) }),
  });
}

/** A PATH with a bubblewrap that does this. */
async function withBwrap(script: string): Promise<string> {
  const dir = await mkdtemp(join(data, 'bin-'));
  await writeFile(join(dir, 'bwrap'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  await writeFile(join(dir, 'env'), '#!/bin/sh\nexec /usr/bin/env "$@"\n', { mode: 0o755 });
  return dir;
}

describe('not as root', () => {
  it.each([
    ['the toolset terminal', TERMINAL],
    ['a program', PROGRAM],
  ])('an agent with %s is refused without bubblewrap, and the error says what to do', (_what, agents) => {
    expect(() => choose(agents, {}, { separateUsers: false, path: '/nowhere' })).toThrow(
      /agents\.worker.*not root.*bubblewrap \(bwrap\) is not installed.*install bubblewrap.*as root.*run_as: same/s,
    );
  });

  it('it is refused if user namespaces are not allowed, and the error says who refused', async () => {
    const path = await withBwrap('echo "bwrap: No permissions to create new namespace" >&2; exit 1');
    expect(() => choose(TERMINAL, {}, { separateUsers: false, path })).toThrow(
      /cannot isolate.*No permissions to create/s,
    );
  });

  it('it is refused if the isolation does not hold', async () => {
    // Runs the command without isolation.
    const path = await withBwrap('while [ "$1" != -- ]; do shift; done; shift; exec "$@"');
    expect(() => choose(TERMINAL, {}, { separateUsers: false, path })).toThrow(
      /still see the data directory/,
    );
  });

  it('`run_as: same` is accepted, with a warning that names the agents', () => {
    const isolation = choose(TERMINAL, { run_as: 'same' }, { separateUsers: false, path: '/nowhere' });
    expect(isolation).toMatchObject({
      kind: 'none',
      warning: expect.stringMatching(/run_as: same.*without isolation.*worker.*secrets/s),
    });
    const program = { file: '/bin/true', args: [] };
    expect(
      isolation.enclose(program, {
        work: data,
        user: null,
        account: null,
        shared: { paths: [], groups: [] },
        joinErrors: true,
      }),
    ).toMatchObject(program);
  });

  it('agents without commands need no isolation', () => {
    expect(
      choose({ quiet: { model: 'main' } }, {}, { separateUsers: false, path: '/nowhere' }),
    ).toMatchObject({
      kind: 'none',
      warning: null,
    });
  });

  it('paths that do not exist, and the whole host, are refused by name', () => {
    const processWatcher = { read_paths: ['/no/such/place'], write_paths: ['/'] };
    expect(() => choose(TERMINAL, processWatcher, { separateUsers: false })).toThrow(
      /read_paths: there is no \/no\/such\/place.*write_paths: name directories or files below/s,
    );
  });
});

describe('as root', () => {
  it('without the tools for namespaces, the session’s own user remains, and the summary says so', () => {
    expect(choose(TERMINAL, {}, { separateUsers: true, path: '/nowhere' })).toMatchObject({
      kind: 'own-user',
      summary: expect.stringMatching(/own user.*no mount namespace: unshare/),
      warning: null,
    });
  });
});

it('`network: none` is refused if it is not possible, never weakened', () => {
  expect(() => choose(TERMINAL, { network: 'none' }, { separateUsers: true, path: '/nowhere' })).toThrow(
    /network: none is not possible here/,
  );
  expect(() => choose(TERMINAL, { network: 'none', run_as: 'same' }, { separateUsers: false })).toThrow(
    /network: none is not possible here.*run_as: same/,
  );
});
