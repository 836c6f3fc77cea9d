import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SessionId } from '@angelia/contracts';
import { digestOfArguments, type SessionCommand } from '@angelia/session';
import { eventually } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type WatcherFixture, watcherFixture } from '../testing/watcher-fixture.ts';
import type { Watcher } from '../watcher/watcher.ts';

let fixture: WatcherFixture;
let watcher: Watcher;

beforeAll(async () => {
  fixture = await watcherFixture();
  watcher = await fixture.watcher();
});
afterAll(() => fixture.stop());

const tools = {
  policy: [
    { tool: 'terminal', match: 'sudo *', do: 'deny' as const },
    { tool: 'terminal', match: '*effects*', do: 'ask' as const },
  ],
  approvers: [],
  approval_expires_seconds: 600,
};
const CALL = 'call-approved';
const workFile = (id: SessionId, name: string): string =>
  join(fixture.dataDirectory, 'processes', id, 'work', name);
const start = (written: string, generation = 2): SessionCommand => ({
  type: 'start-tool',
  generation,
  callId: CALL,
  tool: 'terminal',
  arguments: written,
});

/** A session whose call with these arguments was asked for and, by default, approved. Its next run has started. */
async function approved(written: string, decision: 'approve' | null = 'approve'): Promise<SessionId> {
  const id = await fixture.running({ tools });
  await fixture.execute(
    id,
    {
      type: 'record-model-response',
      generation: 1,
      step: 1,
      model: 'main',
      text: '',
      toolCalls: [{ id: CALL, name: 'terminal', arguments: written }],
      finishReason: 'tool-calls',
      usage: { input_tokens: 1, output_tokens: 1 },
    },
    ...(decision === null
      ? []
      : ([
          {
            type: 'request-approval',
            generation: 1,
            approvalId: `${id}.1`,
            callId: CALL,
            tool: 'terminal',
            arguments: written,
          },
          {
            type: 'decide-approval',
            approvalId: `${id}.1`,
            decision,
            scope: 'once',
            actor: 'api',
            way: 'api',
            reason: null,
            digest: digestOfArguments(written),
            now: 0,
          },
        ] as const)),
  );
  if (decision !== null) await fixture.startRun(id, 1);
  return id;
}

/** As nobody who goes through `decide` could write it: a start with other arguments, or without an approval. */
async function forged(id: SessionId, written: string): Promise<void> {
  const data = (generation: number) => ({
    generation,
    turn: 1,
    call_id: CALL,
    tool: 'terminal',
    arguments: written,
    waits_for: null,
    approval: { approval_id: `${id}.1`, digest: digestOfArguments(written) },
  });
  const executed = await fixture.sessions.execute(id, ({ state }) => ({
    ok: true,
    events: [{ type: 'tool.started', data: data(state.generation) }],
  }));
  expect(executed.status).toBe('appended');
}

describe('approved-is-what-runs', () => {
  it('an approved command runs, exactly as it was approved', async () => {
    const written = '{"command":"echo done >> effects; cat effects"}';
    const id = await approved(written);
    await fixture.execute(id, start(written));
    await watcher.checkSession(id);
    expect(await fixture.result(id, CALL)).toMatchObject({ outcome: 'ok', output: 'done\n' });
  });

  it.each([
    [
      'other arguments than the approved ones',
      'approve',
      '{"command":"echo changed >> effects"}',
      'not those',
    ],
    ['other arguments, although those need no approval', 'approve', '{"command":"touch other"}', 'not those'],
    ['no approval', null, '{"command":"echo done >> effects"}', 'needs an approval'],
    ['a command that the policy denies', null, '{"command":"sudo touch effects"}', 'denies'],
  ] as const)('a start with %s is refused, and nothing runs', async (_, decision, written, told) => {
    const id = await approved('{"command":"echo done >> effects"}', decision);
    await forged(id, written);
    await watcher.checkSession(id);
    expect(await fixture.result(id, CALL)).toMatchObject({
      outcome: 'error',
      error: expect.stringContaining(told),
    });
    expect([existsSync(workFile(id, 'effects')), existsSync(workFile(id, 'other'))]).toEqual([false, false]);
  });

  it('a watcher that dies while an approved command runs: the next one has its result, and it ran once', async () => {
    const written = JSON.stringify({
      command: 'echo x >> effects; until [ -e go ]; do sleep 0.05; done; cat effects',
    });
    const first = await fixture.watcher('dies');
    const id = await approved(written);
    await fixture.execute(id, start(written));
    await first.checkSession(id);
    await eventually(() => existsSync(workFile(id, 'effects')));
    await fixture.crash(first);
    await writeFile(workFile(id, 'go'), '');
    const next = await fixture.watcher('dies');
    expect(await fixture.result(id, CALL)).toMatchObject({ outcome: 'ok', output: 'x\n' });
    expect(readFileSync(workFile(id, 'effects'), 'utf8')).toBe('x\n');
    await fixture.crash(next);
  });
});
