import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { eventually } from '@angelia/testkit';
import { afterEach, describe, expect, it } from '@jest/globals';
import { findProgramIn } from '../isolation/find-program.ts';
import { MARK_VARIABLE } from './protocol.ts';

const setpriv = findProgramIn(process.env.PATH ?? '')('setpriv');
const asRoot = process.getuid?.() === 0 && setpriv !== null ? describe : describe.skip;
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** A number that no session and no other run of this test has. */
const uid = 1_900_000_000 + process.pid;
const MARK = 'session/call_1';

async function marked(mark: string): Promise<number> {
  const child = spawn('sleep', ['300'], {
    uid,
    gid: uid,
    cwd: '/',
    stdio: 'ignore',
    env: { A: '1', [MARK_VARIABLE]: mark },
  });
  children.push(child);
  const pid = child.pid ?? 0;
  await eventually(() => readFileSync(`/proc/${pid}/comm`, 'utf8') === 'sleep\n');
  return pid;
}

/** What process-watcher has in Kubernetes. */
const KEPT = ['setuid', 'setgid', 'chown', 'kill', 'dac_override', 'fowner'];

/** Runs our code in a process that is root without SYS_PTRACE, as in a container. */
function withoutPtrace(module: string, expression: string): unknown {
  const url = fileURLToPath(new URL(module, import.meta.url));
  const code = `const it = await import(${JSON.stringify(url)}); console.log(JSON.stringify(await (${expression})));`;
  const drop = [`--bounding-set=-all,${KEPT.map((one) => `+${one}`).join(',')}`, '--inh-caps=-all'];
  const args = [...drop, '--', process.execPath, '--no-warnings', '--input-type=module', '-e', code];
  return JSON.parse(
    execFileSync(String(setpriv), args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }),
  );
}

asRoot('root without SYS_PTRACE', () => {
  it('finds the processes of a command by the mark in their environment', async () => {
    const [own, other] = [await marked(MARK), await marked('session/call_2')];
    const found = withoutPtrace(
      './process-identity.ts',
      `it.processesWithMark(${JSON.stringify(MARK)}, ${uid})`,
    );
    expect(found).toEqual([own]);
    expect(withoutPtrace('./process-identity.ts', `[...it.marksOf([${own}, ${other}, 1])]`)).toEqual(
      expect.arrayContaining([
        [own, [MARK]],
        [other, ['session/call_2']],
      ]),
    );
  });

  it('cannot read the environment itself, so that this test tests something', async () => {
    const pid = await marked(MARK);
    const read = `(await import('node:fs/promises')).readFile('/proc/${pid}/environ').then(() => 'read', (e) => e.code)`;
    expect(withoutPtrace('./protocol.ts', read)).toBe('EACCES');
  });

  it('counts shared memory once', async () => {
    const pid = await marked(MARK);
    expect(withoutPtrace('./read-as-owner.ts', `it.fileAsOwner(${pid}, 'smaps_rollup')`)).toContain(
      'Pss_Anon:',
    );
  });
});
