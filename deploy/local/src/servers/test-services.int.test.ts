import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { identityOf } from '../../bootstrap/process-identity.mjs';
import { makeLayout } from '../data-directory/layout.ts';
import { openRunningPrograms } from '../programs/running-programs.ts';
import { sweepTestServices, TEST_STACKS } from './test-services.ts';

let directory: string;
const started: ChildProcess[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'angelia-sweep-'));
  process.env.TMPDIR = directory;
});

afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  rmSync(directory, { recursive: true });
});

function runs(): ChildProcess & { readonly pid: number } {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  started.push(child);
  return child as ChildProcess & { readonly pid: number };
}

/** A stack of this worker, with one program. */
async function stackOf(pid: number, identity: string | null) {
  const dir = join(directory, `${TEST_STACKS}${pid}`);
  const layout = await makeLayout(dir);
  const program = runs();
  openRunningPrograms(layout).add('ingress', program.pid);
  mkdirSync(join(dir, 'run', 'launcher.lock'));
  const owner = { pid, identity, nonce: String(pid), note: {} };
  writeFileSync(join(dir, 'run', 'launcher.lock', 'owner.json'), JSON.stringify(owner));
  return { dir, program };
}

it('the stacks of a killed run are ended and removed, and those of a run that goes on are not', async () => {
  const killed = runs();
  const left = await stackOf(killed.pid, identityOf(killed.pid));
  const other = await stackOf(process.pid, identityOf(process.pid));
  killed.kill('SIGKILL');
  const ended = once(left.program, 'exit');
  await once(killed, 'exit');
  await sweepTestServices();
  expect([existsSync(left.dir), existsSync(other.dir)]).toEqual([false, true]);
  await ended;
  expect(other.program.exitCode ?? other.program.signalCode).toBeNull();
});
