import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@angelia/service-kit';
import { eventually } from '@angelia/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { EXIT_FILE, type ExitRecord, PROTOCOL, type StartRequest } from './protocol.ts';
import { Supervisors } from './supervisor-client.ts';

/** The supervisor of an earlier version: today's, by another version's socket. */
const earlier = `supervisor-${PROTOCOL - 1}.sock`;
let place = '';
let directory = '';
let old: ChildProcess;
let supervisors: Supervisors;
const told: string[] = [];

beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'angelia-supervisors-'));
  directory = join(place, 'own');
  mkdirSync(directory);
  const sources = join(place, 'supervisor');
  cpSync(import.meta.dirname, sources, { recursive: true });
  const protocol = join(sources, 'protocol.ts');
  const text = readFileSync(protocol, 'utf8');
  writeFileSync(protocol, text.replace(`PROTOCOL = ${PROTOCOL};`, `PROTOCOL = ${PROTOCOL - 1};`));
  writeFileSync(join(place, 'package.json'), '{ "type": "module" }');
  old = spawn(process.execPath, ['--no-warnings', join(sources, 'main.ts'), directory], { stdio: 'ignore' });
  supervisors = new Supervisors({
    own: directory,
    work: undefined,
    logger: createLogger({ service: 'process-watcher', instance: 'test', level: 'silent' }),
    onEvent: (event, dir) => told.push(`${event} ${dir}`),
  });
});

afterAll(async () => {
  const ended = once(old, 'exit');
  supervisors.close();
  // Both end all that they have, and then themselves.
  rmSync(place, { recursive: true, force: true });
  await ended;
});

/** As the watcher of the earlier version asked for it. */
async function begin(line: string): Promise<string> {
  const dir = mkdtempSync(join(place, 'command-'));
  const request: StartRequest = {
    op: 'start',
    dir,
    file: '/bin/sh',
    args: ['-c', line],
    env: { PATH: process.env.PATH ?? '' },
    mark: dir,
    session: 'session',
    sessionMemoryBytes: 0,
    user: null,
    becomesUser: false,
    stdin: 'open',
    separateErrors: false,
    keepBytes: 1_000,
    lifetimeMs: 60_000,
    idleMs: null,
    graceMs: 1_000,
    watchPatterns: [],
    endLeftovers: false,
  };
  const socket = await eventually(
    () =>
      new Promise<ReturnType<typeof connect> | null>((resolve) => {
        const tried = connect(join(directory, earlier));
        tried.once('connect', () => resolve(tried));
        tried.once('error', () => resolve(null));
      }),
  );
  socket.write(`${JSON.stringify({ id: 1, request })}\n`);
  await new Promise((answered) => socket.once('data', answered));
  socket.destroy();
  return dir;
}

it('asks the supervisor of an earlier version for what that has, and says so when none of them has it', async () => {
  const dir = await begin('read line; exit "$line"');
  const another = { op: 'has', dir: join(place, 'another') } as const;
  expect(await supervisors.askThat(directory, another)).toBeNull();
  expect(await supervisors.askThat(join(place, 'nowhere'), another)).toBeNull();
  // The one of this version is there too from here on, and does not know it.
  expect(await supervisors.ask({ op: 'has', dir })).toEqual({ known: false });
  expect(await supervisors.askThat(directory, another)).toEqual({ known: false });
  expect(await supervisors.askThat(directory, { op: 'has', dir })).toEqual({ known: true });
  expect(await supervisors.askThat(directory, { op: 'write', dir, data: '7\n', end: true })).toEqual({
    status: 'written',
  });
  await eventually(() => told.includes(`ended ${dir}`));
  const exit = JSON.parse(readFileSync(join(dir, EXIT_FILE), 'utf8')) as ExitRecord;
  expect(exit.exit_code).toBe(7);
});

it('ends by it what it has', async () => {
  const dir = await begin('exec sleep 300');
  expect(await supervisors.askThat(directory, { op: 'stop', dir, graceMs: 5_000 })).toEqual({
    known: true,
    survivors: [],
  });
});
