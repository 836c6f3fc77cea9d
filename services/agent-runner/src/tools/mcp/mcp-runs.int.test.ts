import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { EventData, EventType, SessionId } from '@angelia/contracts';
import { decide } from '@angelia/session';
import { eventually } from '@angelia/testkit';
import { afterEach, expect, it } from '@jest/globals';
import { type McpHttpServer, startMcpHttpServer } from '../../testing/mcp-http-server.ts';
import { runnerFixture } from '../../testing/runner-fixture.ts';
import { callsFor, says, scriptedModel } from '../../testing/scripted-model.ts';

let world: Awaited<ReturnType<typeof runnerFixture>>;
let server: McpHttpServer | null = null;
const model = scriptedModel();

afterEach(async () => {
  await world.stop();
  await server?.stop();
  server = null;
});

const PROGRAM = fileURLToPath(new URL('../../testing/mcp-stdio-server.ts', import.meta.url));

async function given(server: string | object) {
  model.requests.length = 0;
  world = await runnerFixture({
    model: model.model,
    leaseSeconds: 5,
    agent: { toolsets: ['mcp:tools'] },
    mcpServers: { tools: typeof server === 'string' ? { url: server, timeout_seconds: 60 } : server },
  });
  return world.runner('a');
}

const has = <T extends EventType>(id: SessionId, type: T, times = 1) =>
  eventually(async () => {
    const found = (await world.events(id)).filter((event) => event.type === type);
    return found.length >= times && found.map(({ data }) => data as EventData<T>);
  });

it('a run has the tools of its MCP server, with their answers and errors', async () => {
  server = await startMcpHttpServer();
  const runner = await given(server.url);
  model.next(
    callsFor(
      { name: 'mcp__tools__echo', args: { say: 'hello' } },
      { name: 'mcp__tools__echo', args: { say: 7 } },
      { name: 'mcp__tools__fail' },
    ),
    says('all seen'),
  );
  const id = await world.create('go');
  await runner.checkSession(id);
  await has(id, 'session.ended');
  expect(model.requests[0]?.tools.map(({ name }) => name)).toContain('mcp__tools__echo');
  expect(model.requests[1]?.messages.slice(-3)).toMatchObject([
    { role: 'tool', content: 'hello' },
    { role: 'tool', content: expect.stringContaining('must be string') },
    { role: 'tool', content: 'no such table' },
  ]);
  const results = await has(id, 'tool.finished', 3);
  expect(results.map(({ outcome }) => outcome).sort()).toEqual(['error', 'error', 'ok']);
  // A call with bad arguments was never started.
  expect(await has(id, 'tool.started', 2)).toHaveLength(2);
});

it('a list of tools that changes during a run counts from the next step', async () => {
  const runner = await given({ command: process.execPath, args: [PROGRAM] });
  model.next(callsFor({ name: 'mcp__tools__grow' }), callsFor({ name: 'mcp__tools__grown' }), says('done'));
  const id = await world.create('go');
  await runner.checkSession(id);
  await has(id, 'session.ended');
  const offered = model.requests.map(({ tools }) => tools.some(({ name }) => name === 'mcp__tools__grown'));
  expect(offered).toEqual([false, true, true]);
  const results = await has(id, 'tool.finished', 2);
  expect(results.map(({ outcome, result }) => [outcome, result])).toEqual([
    ['ok', 'grown'],
    ['ok', 'grown'],
  ]);
});

it('what a server says about its tools reaches the model', async () => {
  server = await startMcpHttpServer();
  const runner = await given(server.url);
  const id = await world.create('go');
  await runner.checkSession(id);
  await has(id, 'session.ended');
  expect(model.requests[0]?.system).toMatch(/mcp__tools__: what their server says\n\nEcho before you look\./);
});

it('a run that cannot get its tools fails for that reason, and the user is told', async () => {
  const { url, stop } = await startMcpHttpServer();
  await stop();
  const runner = await given(url);
  const id = await world.create('go');
  await runner.checkSession(id);
  expect(await has(id, 'run.failed')).toMatchObject([
    {
      code: 'toolset_unavailable',
      message: expect.stringMatching(/MCP server tools: cannot be reached .*ECONNREFUSED/),
    },
  ]);
  expect(await has(id, 'session.final-response')).toMatchObject([{ outcome: 'failed', silent: false }]);
  expect(await has(id, 'session.ended')).toMatchObject([{ outcome: 'failed' }]);
  expect(model.requests).toEqual([]);
});

it('a cancelled run ends at once, in a call and while it waits for a silent server', async () => {
  const mute = createServer(() => {});
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  let cancelled = 0;
  server = await startMcpHttpServer({ onCancelled: () => (cancelled += 1) });
  const cancel = (id: SessionId) =>
    world.sessions.execute(id, ({ state }) => decide(state, { type: 'cancel', by: 'test' }));
  try {
    const waiting = await given(`http://127.0.0.1:${(mute.address() as AddressInfo).port}/mcp`);
    const first = await world.create('go');
    await waiting.checkSession(first);
    await has(first, 'run.started');
    await cancel(first);
    waiting.cancel(first);
    await waiting.idle();
    // The service shuts down: it does not wait for the server either.
    await world.stop();

    const calling = await given(server.url);
    model.next(callsFor({ name: 'mcp__tools__slow' }));
    const second = await world.create('go');
    await calling.checkSession(second);
    await has(second, 'tool.started');
    await cancel(second);
    calling.cancel(second);
    await calling.idle();
    expect(await has(second, 'session.ended')).toMatchObject([{ outcome: 'cancelled' }]);
    await eventually(() => cancelled === 1);
  } finally {
    mute.closeAllConnections();
    mute.close();
  }
});
