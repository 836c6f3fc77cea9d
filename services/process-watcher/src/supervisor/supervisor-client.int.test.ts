import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@angelia/service-kit';
import { eventually } from '@angelia/testkit';
import { LONGEST_TIMER_MS } from '@angelia/waiting';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { EXIT_FILE, type ExitRecord, PROTOCOL, type StartRequest } from './protocol.ts';
import { SupervisorClient } from './supervisor-client.ts';

/** Stands in for the supervisor of an earlier version: today's, with the socket name of an earlier version. */
const earlier = `supervisor-${PROTOCOL - 1}.sock`;
let root = '';
let directory = '';
let old: ChildProcess;
let supervisors: SupervisorClient;
const told: string[] = [];

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'angelia-supervisors-'));
  directory = join(root, 'own');
  mkdirSync(directory);
  const sources = join(root, 'supervisor');
  cpSync(import.meta.dirname, sources, { recursive: true });
  const protocol = join(sources, 'protocol.ts');
  const text = readFileSync(protocol, 'utf8');
  writeFileSync(protocol, text.replace(`PROTOCOL = ${PROTOCOL};`, `PROTOCOL = ${PROTOCOL - 1};`));
  writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
  symlinkSync(join(import.meta.dirname, '../../node_modules'), join(root, 'node_modules'));
  old = spawn(process.execPath, ['--no-warnings', join(sources, 'main.ts'), directory], { stdio: 'ignore' });
  supervisors = new SupervisorClient({
    own: directory,
    work: undefined,
    logger: createLogger({ service: 'process-watcher', instance: 'test', level: 'silent' }),
    onEvent: (event, dir) => told.push(`${event} ${dir}`),
  });
});

afterAll(async () => {
  const ended = once(old, 'exit');
  supervisors.close();
  // Both supervisors end their commands, and then themselves.
  rmSync(root, { recursive: true, force: true });
  await ended;
});

/** Starts a command under the earlier supervisor, as the watcher of that version did. */
async function begin(line: string): Promise<string> {
  const dir = mkdtempSync(join(root, 'command-'));
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
    lifetimeMs: LONGEST_TIMER_MS,
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

it('asks the supervisor of an earlier version about its commands, and says so if no supervisor has a command', async () => {
  const dir = await begin('read line; exit "$line"');
  const another = { op: 'has', dir: join(root, 'another') } as const;
  expect(await supervisors.askAt(directory, another)).toBeNull();
  expect(await supervisors.askAt(join(root, 'nowhere'), another)).toBeNull();
  // From here on the supervisor of this version runs too, and does not know the command.
  expect(await supervisors.ask({ op: 'has', dir })).toEqual({ known: false });
  expect(await supervisors.askAt(directory, another)).toEqual({ known: false });
  expect(await supervisors.askAt(directory, { op: 'has', dir })).toEqual({ known: true });
  expect(await supervisors.askAt(directory, { op: 'write', dir, data: '7\n', end: true })).toEqual({
    status: 'written',
  });
  await eventually(() => told.includes(`ended ${dir}`));
  const exit = JSON.parse(readFileSync(join(dir, EXIT_FILE), 'utf8')) as ExitRecord;
  expect(exit.exit_code).toBe(7);
});

it('ends a command through the supervisor that has it', async () => {
  const dir = await begin('exec sleep 300');
  expect(await supervisors.askAt(directory, { op: 'stop', dir, graceMs: 60_000 })).toEqual({
    known: true,
    survivors: [],
  });
});
