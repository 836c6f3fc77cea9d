import { randomBytes } from 'node:crypto';
import {
  type EventData,
  type EventType,
  type RecordedEvent,
  type SessionId,
  sessionId,
} from '@angelia/contracts';
import { callbackLinks } from '@angelia/service-kit';
import { decide } from '@angelia/session';
import { eventually } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { json, startAgentService } from '../../testing/agent-service.ts';
import { type FixtureOptions, runnerFixture } from '../../testing/runner-fixture.ts';

const SECRET = `whsec_${Buffer.from('a secret of the agent').toString('base64')}`;
const MASTER_KEY = randomBytes(32).toString('base64');
const NOWHERE = 'http://127.0.0.1:9/v1';

let service: Awaited<ReturnType<typeof startAgentService>>;
let world: Awaited<ReturnType<typeof runnerFixture>>;

beforeEach(async () => {
  service = await startAgentService(SECRET);
});
afterEach(async () => {
  expect(service.problems).toEqual([]);
  await service.stop();
  await world.stop();
});

const given = async (
  agent: Readonly<Record<string, unknown>> = {},
  more: Omit<FixtureOptions, 'modelUrl'> = {},
) => {
  const callbacks = callbackLinks(
    { agents: {}, public_url: 'https://hooks.example' },
    { service: 'agent-runner', masterKey: MASTER_KEY, host: '127.0.0.1', port: 1 },
  );
  world = await runnerFixture({
    modelUrl: NOWHERE,
    agents: { elsewhere: { kind: 'http', url: service.url, secret: SECRET, ...agent } },
    ...(callbacks === null ? {} : { callbacks }),
    ...more,
  });
};
const ended = (id: SessionId) =>
  eventually(async () => {
    const events = await world.events(id);
    return events.some((event) => event.type === 'session.ended') && events;
  });
const dataOf = <T extends EventType>(events: readonly RecordedEvent[], type: T): EventData<T>[] =>
  events.filter((event) => event.type === type).map((event) => event.data as EventData<T>);
const types = (events: readonly RecordedEvent[]) => events.slice(2).map((event) => event.type);
async function run(input = 'do it', runner = world.runner('a')) {
  const id = await world.create(input, 'elsewhere');
  await runner.checkSession(id);
  return id;
}

describe('an agent of kind http', () => {
  it('gets one signed request, and its text is the answer', async () => {
    await given({ headers: { 'x-tenant': 'blue' } });
    const id = await run('two and two');
    const events = await ended(id);
    expect(types(events)).toEqual([
      'run.started',
      'tool.started',
      'tool.finished',
      'session.final-response',
      'session.ended',
    ]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([
      { text: 'the answer', outcome: 'succeeded', silent: false },
    ]);
    expect(service.asked).toHaveLength(1);
    const { headers, body } = service.asked[0] ?? {};
    expect(headers).toMatchObject({ 'x-tenant': 'blue', 'webhook-id': `${id}_agent-1` });
    expect(body).toMatchObject({
      type: 'agent.turn',
      session_id: id,
      turn: 1,
      route: 'hook',
      resumed: false,
      prompt: 'two and two',
      messages: [{ role: 'user', content: 'two and two' }],
      callback_url: expect.stringMatching(/^https:\/\/hooks\.example\/callbacks\/[\w.-]+$/),
    });
    expect((await world.log.leases.read(`run:${id}`)).lease).toBe(null);
    // Neither the link nor the secret nor the address, which may hold a key.
    const written = JSON.stringify(events);
    for (const secret of [SECRET, String(body?.callback_url).split('/').at(-1) ?? '', 'in-the-url']) {
      expect(written).not.toContain(secret);
    }
  });

  it('gets the conversation so far, including turns that were queued', async () => {
    await given();
    service.behave(({ body }, response) => {
      setTimeout(() => json(response, 200, { text: `re: ${body.prompt}` }), 100);
    });
    const runner = world.runner('a');
    const id = await run('first', runner);
    await eventually(() => service.asked.length === 1);
    await world.sessions.execute(id, ({ state }) =>
      decide(state, { type: 'request-turn', source: 'message', input: 'second', deliveryId: 'm2' }),
    );
    await runner.checkSession(id);
    const events = await ended(id);
    expect(dataOf(events, 'session.final-response').map((data) => data.text)).toEqual([
      're: first',
      're: second',
    ]);
    expect(service.asked[1]?.body.messages).toEqual([
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 're: first' },
      { role: 'user', content: 'second' },
    ]);
    expect(service.asked[1]?.headers['webhook-id']).toBe(`${id}_agent-2`);
  });

  it('may answer 202: the run continues when the result of its call is there', async () => {
    await given();
    service.behave((_asked, response) => json(response, 202, {}));
    const id = await run();
    await eventually(() => service.asked.length === 1);
    // Recorded as ingress records a callback.
    await world.sessions.execute(id, ({ state }) =>
      decide(state, {
        type: 'finish-tool',
        generation: null,
        callId: 'agent-1',
        outcome: 'ok',
        result: '{"text":"later"}',
      }),
    );
    const events = await ended(id);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'later' }]);
    expect(service.asked).toHaveLength(1);
  });

  it('may have called back before its request fails: then the callback is the answer', async () => {
    await given();
    service.behave(async ({ body }, response) => {
      await world.sessions.execute(sessionId(String(body.session_id)), ({ state }) =>
        decide(state, {
          type: 'finish-tool',
          generation: null,
          callId: 'agent-1',
          outcome: 'ok',
          result: '{"text":"by the callback"}',
        }),
      );
      response.writeHead(204).end();
    });
    const events = await ended(await run());
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'by the callback' }]);
  });

  it('is asked again under the same id by the run that follows a lost one, and not if it has answered', async () => {
    await given({}, { leaseSeconds: 1 });
    service.behave((_asked, response) => json(response, 202, {}));
    const dead = world.runner('dead');
    const id = await run('do it', dead);
    await eventually(() => service.asked.length === 1);
    dead.cut();
    const other = world.runner('other');
    await eventually(async () => {
      await other.checkSession(id);
      return service.asked.length === 2;
    });
    expect(service.asked.map(({ headers }) => headers['webhook-id'])).toEqual([
      `${id}_agent-1`,
      `${id}_agent-1`,
    ]);
    expect(service.asked.map(({ body }) => body.resumed)).toEqual([false, true]);
    other.cut();
    await world.sessions.execute(id, ({ state }) =>
      decide(state, {
        type: 'finish-tool',
        generation: null,
        callId: 'agent-1',
        outcome: 'ok',
        result: '{"text":"while nobody looked"}',
      }),
    );
    const third = world.runner('third');
    const events = await eventually(async () => {
      await third.checkSession(id);
      const now = await world.events(id);
      return now.some((event) => event.type === 'session.ended') && now;
    });
    expect(dataOf(events, 'tool.started')).toHaveLength(1);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'while nobody looked' }]);
    expect(service.asked).toHaveLength(2);
  });

  it('is tried again under the same id when it is briefly unreachable', async () => {
    await given();
    service.behave((_asked, response) => {
      if (service.asked.length === 1) response.destroy();
      else if (service.asked.length === 2) json(response, 503, {}, { 'retry-after': '0' });
      else json(response, 200, { text: 'at last' });
    });
    const events = await ended(await run());
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text: 'at last' }]);
    expect(new Set(service.asked.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  it('fails the run with one sentence when it stays unreachable and nobody waits for it', async () => {
    await given({ retry: { max_seconds: 0 } });
    service.behave((_asked, response) => json(response, 500, { secret: 'of the agent' }));
    const events = await ended(await run());
    expect(service.asked).toHaveLength(3);
    expect(dataOf(events, 'run.failed')).toMatchObject([{ code: 'agent_unreachable' }]);
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ outcome: 'failed', silent: false }]);
    expect(JSON.stringify(events)).not.toContain('of the agent"');
  });

  it.each<[string, (response: Parameters<typeof json>[0]) => void, RegExp]>([
    ['refuses', (response) => json(response, 401, {}), /answered 401/],
    ['redirects', (response) => json(response, 307, {}, { location: service.url }), /answered 307/],
    ['answers something else', (response) => json(response, 200, { answer: 'x' }), /is not \{"text"/],
    ['answers something other than JSON', (response) => void response.end('<html>'), /not JSON/],
    [
      'answers without end',
      (response) => {
        const more = setInterval(() => response.write('x'.repeat(65_536)), 1);
        response.on('close', () => clearInterval(more));
      },
      /longer than 1048576 bytes/,
    ],
  ])('fails the run at once when it %s', async (_what, behave, reason) => {
    await given();
    service.behave((_asked, response) => behave(response));
    const events = await ended(await run());
    expect(service.asked).toHaveLength(1);
    expect(dataOf(events, 'run.failed')).toMatchObject([
      { code: 'agent_failed', message: expect.stringMatching(reason) },
    ]);
  });

  it('has a time limit for each request', async () => {
    await given({ request_timeout_seconds: 0.3 });
    service.behave(() => {});
    const events = await ended(await run());
    expect(dataOf(events, 'run.failed')).toMatchObject([{ code: 'agent_failed' }]);
    expect(service.asked).toHaveLength(1);
    await eventually(() => service.asked[0]?.aborted);
  });

  it('may have a time limit longer than the longest timer', async () => {
    await given({ request_timeout_seconds: 1e7 });
    expect(dataOf(await ended(await run()), 'session.final-response')).toMatchObject([
      { outcome: 'succeeded' },
    ]);
  });

  it('is disconnected when the session is cancelled', async () => {
    await given();
    service.behave(() => {});
    const runner = world.runner('a');
    const id = await run('do it', runner);
    await eventually(() => service.asked.length === 1);
    await world.sessions.execute(id, ({ state }) => decide(state, { type: 'cancel', by: 'api' }));
    runner.cancel(id);
    await eventually(() => service.asked[0]?.aborted);
    await runner.idle();
    expect(types(await world.events(id)).slice(-2)).toEqual(['run.cancelled', 'session.ended']);
  });

  it.each([
    ['', true],
    ['[SILENT] nothing to do', true],
    ['said', false],
  ])('answers %j, which is kept, and silent: %s', async (text, silent) => {
    await given();
    service.behave((_asked, response) => json(response, 200, { text }));
    const events = await ended(await run());
    expect(dataOf(events, 'session.final-response')).toMatchObject([{ text, silent, outcome: 'succeeded' }]);
  });
});
