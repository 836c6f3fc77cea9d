import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SessionId } from '@angelia/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findProgramIn } from '../isolation/find-program.ts';
import { type WatcherFixture, watcherFixture } from '../testing/watcher-fixture.ts';
import type { Watcher } from '../watcher/watcher.ts';

const find = findProgramIn(process.env.PATH ?? '');
const sh = (script: string, more: Record<string, unknown> = {}) => ({
  kind: 'command',
  command: ['/bin/sh', '-c', script],
  ...more,
});
/** `read script; eval` runs what the session's prompt says. */
const told = (more: Record<string, unknown> = {}) => sh('eval "$(cat)" 2>&1', more);
const isRoot = process.getuid?.() === 0;
/** Sessions have users of their own only if the watcher is root. */
const asRoot = isRoot ? it : it.skip;
const withGit = find('git') === null ? it.skip : it;

let fixture: WatcherFixture;
let watcher: Watcher;
let isolation = '';
const directory = await mkdtemp(join(tmpdir(), 'angelia-tools-'));
const [checkout, shared, closed] = ['checkout', 'shared', 'closed'].map((name) => join(directory, name)) as [
  string,
  string,
  string,
];

beforeAll(async () => {
  await chmod(directory, 0o755);
  await mkdir(join(checkout, 'inner'), { recursive: true });
  await mkdir(closed, { mode: 0o700 });
  if (find('git') !== null) execFileSync('git', ['init', '-q', checkout]);
  fixture = await watcherFixture({
    agents: {
      told: told(),
      inside: told({
        cwd: join(checkout, 'inner'),
        env: { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'user.name', GIT_CONFIG_VALUE_0: 'Me' },
      }),
      sharing: told({ shared_dirs: [shared] }),
      refused: told({ shared_dirs: [closed] }),
    },
  });
  watcher = await fixture.watcher();
  const { output } = await fixture.run(watcher, await fixture.running(), 'terminal', {
    command: 'cmp -s /etc/passwd /proc/1/root/etc/passwd; mountpoint -q /etc/passwd && echo namespaces',
  });
  isolation = String(output).trim();
});
afterAll(async () => {
  await fixture.stop();
  await rm(directory, { recursive: true });
});

async function run(agent: string, input: string): Promise<{ id: SessionId; text: string }> {
  const id = await fixture.running({ agent, toolsets: null, input });
  await fixture.execute(id, { type: 'start-agent', generation: 1, kind: 'command', arguments: '{}' });
  await watcher.checkSession(id);
  const result = await fixture.result(id, 'agent-1');
  return { id, text: String(result.text ?? result.error) };
}

describe('ordinary tools in a session', () => {
  asRoot('know the name of its user', async () => {
    const { text } = await run(
      'told',
      'echo "$USER $LOGNAME"; id -un; id -gn; [ ! -x /usr/bin/ssh ] || ssh -G host | grep ^user; true',
    );
    const [environment, ...others] = text.split('\n');
    expect(environment).toBe('agent agent');
    // A container without the right to mount, and without nss_wrapper, has the variables only.
    if (isolation !== 'namespaces') return;
    expect(others.slice(0, 2)).toEqual(['agent', 'agent']);
    if (existsSync('/usr/bin/ssh')) expect(others).toContain('user agent');
  });

  asRoot('see the users of the host as before, and cannot change the file', async () => {
    const { text } = await run('told', 'id -un 0; echo x >> /etc/passwd; head -1 /etc/passwd');
    expect(text).toMatch(/^root\n.*(Permission denied|Read-only file system)\nroot:/s);
  });

  withGit(
    'may use git in the directory that the config names, also below the top of the checkout',
    async () => {
      const { text } = await run('inside', 'git status --short --branch && git config user.name');
      expect(text).toMatch(/^## No commits yet on .*\nMe$/);
    },
  );

  (isRoot && find('git') !== null ? it : it.skip)(
    'may not use git in other directories of other users',
    async () => {
      const { text } = await run('told', `cd ${checkout} && git status`);
      expect(text).toContain('dubious ownership');
    },
  );
});

describe('shared_dirs', () => {
  it('are made, and sessions of the agent use them together, also files that a program closes', async () => {
    const first = await run(
      'sharing',
      `cd ${shared} && mkdir -p deep && echo one > deep/plain && umask 077 && mkdir secret && echo two > secret/login && id -u`,
    );
    expect(first.text).toMatch(/^\d+$/);
    const second = await run(
      'sharing',
      `cd ${shared} && echo more >> deep/plain && echo more >> secret/login && cat deep/plain secret/login && touch secret/new && id -u`,
    );
    expect(second.text).toMatch(/^one\nmore\ntwo\nmore\n\d+$/);
    if (!isRoot) return;
    expect(second.text.split('\n').at(-1)).not.toBe(first.text);
    const { mode, gid } = await stat(shared);
    expect(mode & 0o7777).toBe(0o2770);
    expect((await stat(join(shared, 'secret'))).gid).toBe(gid);
  });

  asRoot('are closed to the sessions of other agents', async () => {
    await run('sharing', `echo x > ${shared}/x`);
    expect((await run('told', `cat ${shared}/x`)).text).toContain('Permission denied');
  });

  asRoot('keep the group that the operator chose', async () => {
    const own = join(directory, 'shared');
    await run('sharing', 'true');
    await chown(own, 0, 54_321);
    // As a member of the group, so that this works in a container without FSETID, too.
    execFileSync('chmod', ['2770', own], { uid: 0, gid: 54_321 });
    expect((await run('sharing', `touch ${own}/y && id -G && stat -c %g ${own}/y`)).text).toMatch(
      / 54321\n54321$/,
    );
  });

  asRoot('that are closed to their group fail the run with what to do', async () => {
    await writeFile(join(closed, 'file'), '');
    expect((await run('refused', 'true')).text).toMatch(
      new RegExp(`shared_dirs: ${closed} is not a directory of a group that may write to it.*chmod 2770`),
    );
  });

  asRoot('leave a session its own files: nobody else of the agent can read them', async () => {
    const { id } = await run('sharing', 'echo mine > own; pwd');
    const work = join(fixture.dataDirectory, 'processes', id, 'work');
    expect((await run('sharing', `cat ${work}/own`)).text).toMatch(/Permission denied|No such file/);
  });
});
