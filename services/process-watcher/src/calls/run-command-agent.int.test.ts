import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { chown, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SessionId } from '@angelia/contracts';
import type { CreateSession } from '@angelia/session';
import { eventually } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type WatcherFixture, watcherFixture } from '../testing/watcher-fixture.ts';
import type { Watcher } from '../watcher/watcher.ts';

const sh = (script: string, more: Record<string, unknown> = {}) => ({
  kind: 'command',
  command: ['/bin/sh', '-c', script],
  ...more,
});

let fixture: WatcherFixture;
let watcher: Watcher;

const isRoot = process.getuid?.() === 0;
/** As /root/.local/bin: its programs are there for us and not for the users of sessions. */
const closed = mkdtempSync(join(tmpdir(), 'angelia-closed-'));
writeFileSync(join(closed, 'agent'), '#!/bin/sh\necho ran', { mode: 0o755 });
chmodSync(closed, isRoot ? 0o700 : 0o000);

beforeAll(async () => {
  fixture = await watcherFixture({
    agents: {
      cat: sh('cat'),
      argv: { kind: 'command', command: ['printf', '%s|', 'a b', '$HOME', ';exit'] },
      fails: sh('echo half; echo "key is $API_KEY" >&2; exit 3', { env: { API_KEY: 'sk-very-secret' } }),
      quotes: sh('echo "$OPENAI_MODEL $SHELL_HOME $API_KEY $LICENCE $MAX_OUTPUT_TOKENS $DATABASE"', {
        env: {
          OPENAI_MODEL: 'gpt-5-mini',
          SHELL_HOME: '/srv/checkout',
          API_KEY: 'sk-very-secret',
          LICENCE: 'marked-by-the-config',
          MAX_OUTPUT_TOKENS: '128000',
          DATABASE: 'postgres://me:hunter2222@db/x',
        },
        secret_env: ['LICENCE'],
      }),
      killed: sh('kill -SEGV $$'),
      missing: { kind: 'command', command: ['/nowhere/agent'] },
      unheard: { kind: 'command', command: ['no-such-agent'], env: { PATH: `${closed}:/usr/bin:/bin` } },
      closed: { kind: 'command', command: ['agent'], env: { PATH: `${closed}:/usr/bin:/bin` } },
      leaves: sh('echo "sh: 1: other: not found" >&2; exit 127'),
      reports: sh('echo ::status one; echo answer; echo "::status   two"; echo :::more; echo "::status "'),
      prefixed: sh('echo "# one"; echo ::status two', { status_prefix: '# ' }),
      slow: sh(
        'sleep 300 & echo $! > child; echo ::status begun; echo reached; echo "no answer for $API_KEY" >&2; wait',
        {
          timeout_seconds: 2,
          env: { API_KEY: 'sk-very-secret' },
        },
      ),
      poor: sh('echo "Credit balance is too low"; exit 1'),
      talks: sh('i=0; while [ $i -lt 2000 ]; do echo "line $i"; i=$((i+1)); done; echo the end; exit 1'),
      floods: sh('yes', { max_output_bytes: 10_000 }),
      waits: sh(
        'echo x >> starts; echo ::status begun; while [ ! -e go ]; do sleep 0.05; done; echo ::status going on; echo done',
      ),
      env: sh('echo "$ANGELIA_TURN $ANGELIA_ROUTE $OWN"; env', { env: { OWN: 'own' } }),
      chatters: sh('i=0; while [ $i -lt 300 ]; do echo "::status $i"; i=$((i+1)); done; echo done'),
    },
  });
  watcher = await fixture.watcher();
});
afterAll(async () => {
  await fixture.stop();
  chmodSync(closed, 0o700);
  rmSync(closed, { recursive: true });
});

async function begun(agent: string, over: Partial<CreateSession> = {}): Promise<SessionId> {
  const id = await fixture.running({ agent, toolsets: null, ...over });
  await fixture.execute(id, { type: 'start-agent', generation: 1, kind: 'command', arguments: '{}' });
  return id;
}
async function run(agent: string, over: Partial<CreateSession> = {}) {
  const id = await begun(agent, over);
  await watcher.checkSession(id);
  return { id, result: await fixture.result(id, 'agent-1') };
}
const said = async (id: SessionId) =>
  (await fixture.of(id, 'session.interim-status')).map(({ kind, generation, text }) => [
    kind,
    generation,
    text,
  ]);
const work = (id: SessionId, name: string) => join(fixture.dataDirectory, 'processes', id, 'work', name);

describe('a program that is the agent', () => {
  it('reads the prompt from stdin, and its stdout is the answer', async () => {
    const input = `line one\n${'ü'.repeat(100_000)} "quoted" $(not run)`;
    expect((await run('cat', { input })).result).toEqual({ outcome: 'ok', text: input });
  });

  it('is started without a shell, argument by argument', async () => {
    expect((await run('argv')).result).toEqual({ outcome: 'ok', text: 'a b|$HOME|;exit|' });
  });

  it('gets the conversation so far', async () => {
    const history = [
      { role: 'user' as const, content: 'first' },
      { role: 'assistant' as const, content: 're: first' },
    ];
    const { result } = await run('cat', { history, input: 'second' });
    expect(result).toEqual({
      outcome: 'ok',
      text: 'The conversation so far:\n\nUser: first\n\nYou: re: first\n\nThe message to answer now:\n\nsecond',
    });
  });

  it('has its own environment, with nothing of ours in it', async () => {
    const { result } = await run('env');
    const text = String((result as { text?: unknown }).text);
    expect(text.split('\n')[0]).toBe('1 hook own');
    expect(text).not.toMatch(/DATABASE_URL|NODE_|JEST|MASTER_KEY/);
  });

  it('that fails returns an error with its exit code and the end of its stderr, without its secrets', async () => {
    expect((await run('fails')).result).toEqual({
      outcome: 'error',
      error: 'the program ended with exit code 3\nstderr: key is [redacted]\nstdout: half',
    });
    expect((await run('killed')).result).toEqual({
      outcome: 'error',
      error: 'the program was ended by SIGSEGV',
    });
  });

  it('that is not there is named', async () => {
    expect((await run('missing')).result).toEqual({
      outcome: 'error',
      error: expect.stringMatching(
        /^the program could not be started: there is no program \/nowhere\/agent on the host/,
      ),
    });
    // A directory of PATH that is closed to the session's user makes a shell say "Permission denied".
    expect((await run('unheard')).result).toEqual({
      outcome: 'error',
      error: expect.stringMatching(
        /^the program could not be started: there is no program no-such-agent on the host .* in PATH \(/,
      ),
    });
  });

  (isRoot ? it : it.skip)('that its user may not execute is named, with its path', async () => {
    expect((await run('closed')).result).toEqual({
      outcome: 'error',
      error: expect.stringContaining(
        `the program ${join(closed, 'agent')} is there, but the user of this session may not execute it`,
      ),
    });
  });

  it('that itself ends with exit code 127 was started', async () => {
    expect((await run('leaves')).result).toEqual({
      outcome: 'error',
      error: 'the program ended with exit code 127\nstderr: sh: 1: other: not found',
    });
  });

  it('that fails with a known message gets a hint, also if it printed that to stdout', async () => {
    const { error } = (await run('poor')).result;
    expect(error).toMatch(/^the program ended with exit code 1\. The account of the key has no credit left/);
    expect(error).toMatch(/\nstdout: Credit balance is too low$/);
  });

  it('that fails after much output returns only the end of it', async () => {
    const error = String((await run('talks')).result.error);
    expect(error).toMatch(/line 1999\nthe end$/);
    expect(error.length).toBeLessThan(2_200);
  });

  it('has its secrets removed from the answer, and no other value of its environment', async () => {
    expect((await run('quotes')).result).toEqual({
      outcome: 'ok',
      text: 'gpt-5-mini /srv/checkout [redacted] [redacted] 128000 postgres://me:[redacted]@db/x',
    });
  });

  it('reports statuses by lines that begin with the prefix', async () => {
    const { id, result } = await run('reports');
    expect(result).toEqual({ outcome: 'ok', text: 'answer\n:::more' });
    expect(await said(id)).toEqual([
      ['agent', 1, 'one'],
      ['agent', 1, 'two'],
    ]);
    const types = (await fixture.events(id)).map(({ type }) => type);
    expect(types.lastIndexOf('session.interim-status')).toBeLessThan(types.indexOf('tool.finished'));
    const other = await run('prefixed');
    expect(other.result).toEqual({ outcome: 'ok', text: '::status two' });
    expect(await said(other.id)).toEqual([['agent', 1, 'one']]);
  });

  it('reports them while it works, not only at its end', async () => {
    const id = await begun('waits');
    await watcher.checkSession(id);
    await eventually(async () => (await said(id)).length === 1);
    expect(await fixture.of(id, 'tool.finished')).toEqual([]);
    await touch(id, 'go');
    expect(await fixture.result(id, 'agent-1')).toEqual({ outcome: 'ok', text: 'done' });
  });

  it('reports at most 200 statuses', async () => {
    const { id, result } = await run('chatters');
    expect(result).toEqual({ outcome: 'ok', text: 'done' });
    expect(await said(id)).toHaveLength(200);
  });

  it('that takes too long is ended with everything it started', async () => {
    const { id, result } = await run('slow');
    expect(result).toEqual({
      outcome: 'error',
      code: 'timeout',
      error:
        'the program took longer than 2 s (timeout_seconds)\nstderr: no answer for [redacted]\nstdout: reached',
    });
    const child = Number(readFileSync(work(id, 'child'), 'utf8'));
    await eventually(() => !existsSync(`/proc/${child}`) || isZombie(child));
  });

  it('that prints too much is ended, and gives no half answer', async () => {
    expect((await run('floods')).result).toMatchObject({
      outcome: 'error',
      error: expect.stringContaining('more than 10000 bytes'),
    });
  });

  it('keeps running without a watcher, is not started again, and reports nothing twice', async () => {
    const id = await begun('waits');
    const first = await fixture.watcher();
    await first.checkSession(id);
    await eventually(async () => (await said(id)).length === 1);
    await fixture.crash(first);
    const second = await fixture.watcher();
    await second.checkSession(id);
    await touch(id, 'go');
    expect(await fixture.result(id, 'agent-1')).toEqual({ outcome: 'ok', text: 'done' });
    expect(readFileSync(work(id, 'starts'), 'utf8')).toBe('x\n');
    expect(await said(id)).toEqual([
      ['agent', 1, 'begun'],
      ['agent', 1, 'going on'],
    ]);
    await fixture.crash(second);
  });

  it('outlives the runner: its result counts, and its statuses belong to the run that has the turn by then', async () => {
    const id = await begun('waits');
    await watcher.checkSession(id);
    await eventually(async () => (await said(id)).length === 1);
    await fixture.execute(id, { type: 'interrupt-run', generation: 1, reason: 'drain' });
    await fixture.startRun(id, 1);
    await touch(id, 'go');
    expect(await fixture.result(id, 'agent-1')).toEqual({ outcome: 'ok', text: 'done' });
    expect(await said(id)).toEqual([
      ['agent', 1, 'begun'],
      ['agent', 2, 'going on'],
    ]);
  });

  it('is ended when its session is cancelled', async () => {
    const id = await begun('waits');
    await watcher.checkSession(id);
    await eventually(() => existsSync(work(id, 'starts')));
    await fixture.execute(id, { type: 'cancel', by: 'api' });
    await watcher.cancelled(id);
    await eventually(() => watcher.sessionsInFlight === 0);
    expect((await fixture.events(id)).at(-1)?.type).toBe('session.ended');
  });

  it('is the session’s own agent, whatever program the call names', async () => {
    const id = await fixture.running({ agent: 'default' });
    await fixture.execute(id, {
      type: 'start-agent',
      generation: 1,
      kind: 'command',
      arguments: '{"command":["touch","x"]}',
    });
    await watcher.checkSession(id);
    expect(await fixture.result(id, 'agent-1')).toMatchObject({ outcome: 'error' });
  });
});

/** As the session's own user, who owns the directory. */
async function touch(id: SessionId, name: string): Promise<void> {
  const { uid, gid } = await stat(work(id, '.'));
  await writeFile(work(id, name), '');
  if (process.getuid?.() === 0) await chown(work(id, name), uid, gid);
}

function isZombie(pid: number): boolean {
  return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}
