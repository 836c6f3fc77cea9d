import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from '@jest/globals';
import { identityOf, signalGroup } from './process-identity.ts';
import { MARK_VARIABLE } from './protocol.ts';
import { type LimitedSession, pidsOf, sessionsOver } from './session-memory.ts';
import { processesOf } from './user-processes.ts';

const MB = 1_048_576;
/** Leaders or members of process groups. */
const started: number[] = [];

afterEach(() => {
  for (const pid of started.splice(0)) if (pid > 0) signalGroup(pid, 'SIGKILL');
});

/** Starts a command, waits until it has printed that many pids, and returns its session. */
async function begin(script: string, lines: number, mark: string, limitBytes: number) {
  const child = spawn('/bin/bash', ['-c', script], {
    detached: true,
    env: { PATH: process.env.PATH ?? '', [MARK_VARIABLE]: mark },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const pids: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (pids.push(Number(line)) === lines) break;
  }
  started.push(child.pid ?? 0, ...pids);
  const commands = [{ identity: identityOf(child.pid ?? 0), mark }];
  const user = process.getuid?.();
  const session: LimitedSession = { id: mark, limitBytes, ownUser: null, user, commands };
  return { session, pids };
}

describe('the memory of a session', () => {
  it('is the sum of its processes, in which shared memory counts once', async () => {
    // Five copies of a shell with 60 MB, which the kernel holds once.
    const copies =
      'printf -v x "%60000000s"; for n in 1 2 3 4; do { echo 0; read; } < <(sleep 300) & done; wait';
    const { session } = await begin(copies, 4, 'shares', 250 * MB);
    const pids = new Set(pidsOf(session));
    const sum = processesOf(process.getuid?.() ?? 0)
      .filter(({ pid }) => pids.has(pid))
      .reduce((all, { bytes }) => all + bytes, 0);
    expect(sum).toBeGreaterThan(250 * MB);
    expect(await sessionsOver([session])).toEqual([]);
    expect(await sessionsOver([{ ...session, limitBytes: 50 * MB }])).toHaveLength(1);
  });

  it('counts for the session that started a process, wherever the process went', async () => {
    const itself = "sh -c 'echo $$; exec sleep 300'";
    const one = await begin(`setsid ${itself} & env -i setsid ${itself} & wait`, 2, 'one', 1);
    const two = await begin(`${itself} & wait`, 1, 'two', 1);
    expect(pidsOf(one.session)).toEqual(expect.arrayContaining(one.pids));
    expect(pidsOf(two.session)).toEqual(expect.arrayContaining(two.pids));
    expect(pidsOf(one.session)).not.toEqual(expect.arrayContaining(two.pids));
  });
});
