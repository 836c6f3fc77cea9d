import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CloudEvent, HTTP, type Message } from 'cloudevents';
import { startIngress, type TestIngress } from '../testing/ingress.ts';
import { rawRequest } from '../testing/raw-request.ts';
import { MOST_EVENTS } from './take-batch.ts';

// CloudEvents as the reference library sends them, over real HTTP.

const TOKEN = 'cloud-events-token';
const config = {
  limits: { rate_limit: 0 },
  agents: { default: {} },
  targets: { http: {} },
  routes: {
    events: { secret: TOKEN, auth: 'bearer', prompt: '{__raw__}' },
    binary: { secret: TOKEN, auth: 'bearer', prompt: 'order {order}' },
    structured: { secret: TOKEN, auth: 'bearer', prompt: 'order {data.order}' },
    paid: { secret: TOKEN, auth: 'bearer', events: ['com.example.paid'] },
    limited: { secret: TOKEN, auth: 'bearer', rate_limit: 2 },
    addressed: {
      secret: TOKEN,
      auth: 'bearer',
      deliver: 'http',
      deliver_extra: { url: 'https://{data.host}/' },
    },
    disabled: { secret: TOKEN, enabled: false },
  },
};

let database: TestDatabase;
let ingress: TestIngress;

beforeAll(async () => {
  database = await createTestDatabase();
  ingress = await startIngress({ databaseUrl: database.url, config });
});

afterAll(async () => {
  await ingress?.close();
  await database?.drop();
});

let lastId = 0;
const newId = () => `event-${++lastId}`;

function event(attributes: Partial<CloudEvent<unknown>> = {}): CloudEvent<unknown> {
  return new CloudEvent<unknown>({
    id: newId(),
    source: '/shop/1',
    type: 'com.example.ordered',
    data: { order: 17 },
    ...attributes,
  });
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, string>> & { readonly items?: readonly Record<string, string>[] };
}

async function post(route: string, { headers, body }: Pick<Message, 'headers' | 'body'>): Promise<Answer> {
  const answer = await rawRequest({
    url: `${ingress.baseUrl}/webhooks/${route}`,
    headers: { ...(headers as Record<string, string>), authorization: `Bearer ${TOKEN}` },
    body: (body as string | undefined) ?? '',
  });
  return { status: answer.status, body: JSON.parse(answer.text) as Answer['body'] };
}

function batchOf(events: readonly unknown[]): Pick<Message, 'headers' | 'body'> {
  return {
    headers: { 'content-type': 'application/cloudevents-batch+json; charset=utf-8' },
    body: JSON.stringify(events),
  };
}

async function inputOf(sessionId: string | undefined): Promise<string> {
  const rows = await database.query<{ data: { input: string } }>(
    "SELECT data FROM angelia.events WHERE stream_id = $1 AND type = 'turn.requested'",
    [sessionId],
  );
  return rows[0]?.data.input ?? '';
}

describe.each(['binary', 'structured'] as const)('a CloudEvent in %s mode', (mode) => {
  const sent = (each: CloudEvent<unknown>) => HTTP[mode](each);

  it('is taken under its id and type, and its data reaches the prompt', async () => {
    const id = newId();
    const { status, body } = await post(mode, sent(event({ id })));
    expect([status, body.delivery_id, body.event]).toEqual([202, id, 'com.example.ordered']);
    expect(await inputOf(body.session_id)).toContain('order 17');
  });

  it('is one of two, even if their data is equal', async () => {
    const [one, other] = [event(), event()];
    const first = await post('events', sent(one));
    const second = await post('events', sent(other));
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.body.session_id).not.toBe(first.body.session_id);
    const again = await post('events', sent(one));
    expect([again.status, again.body.status, again.body.session_id]).toEqual([
      200,
      'duplicate',
      first.body.session_id,
    ]);
  });

  it('differs from an event of another source with the same id', async () => {
    const id = newId();
    const here = await post('events', sent(event({ id })));
    const there = await post('events', sent(event({ id, source: '/shop/2' })));
    expect([here.status, there.status]).toEqual([202, 202]);
  });

  it('needs no data: its attributes are the payload', async () => {
    const { status, body } = await post('events', sent(event({ data: undefined, subject: 'cart 9' })));
    expect(status).toBe(202);
    const input = await inputOf(body.session_id);
    expect(input).toContain('"subject": "cart 9"');
    expect(input).toContain('"source": "/shop/1"');
  });

  it('is ignored if the route wants another type', async () => {
    expect((await post('paid', sent(event()))).body).toMatchObject({ status: 'ignored', reason: 'event' });
    expect((await post('paid', sent(event({ type: 'com.example.paid' })))).status).toBe(202);
  });
});

it('is the same event in both modes', async () => {
  const one = event();
  const binary = await post('events', HTTP.binary(one));
  expect((await post('events', HTTP.structured(one))).body).toMatchObject({
    status: 'duplicate',
    session_id: binary.body.session_id,
  });
});

it('without data needs no content-type, and percent-encoded attributes are decoded', async () => {
  const headers = {
    'ce-specversion': '1.0',
    'ce-id': `Euro%20%E2%82%AC%20${newId()}`,
    'ce-source': '/shop/1',
    'ce-type': 'com.example.ordered',
  };
  const { status, body } = await post('events', { headers, body: '' });
  expect([status, body.delivery_id]).toEqual([202, `Euro € event-${lastId}`]);
});

it('without an id is a webhook like any other: two with equal data are one', async () => {
  const headers = { 'ce-specversion': '1.0', 'ce-type': 'com.example.ordered' };
  const first = await post('events', { headers, body: '' });
  expect([first.status, first.body.event]).toEqual([202, 'com.example.ordered']);
  expect((await post('events', { headers, body: '' })).body.status).toBe('duplicate');
});

describe('a batch', () => {
  it('is one session for each event, and none for events that were taken before', async () => {
    const events = [event(), event({ type: 'com.example.paid' }), event({ data: undefined })];
    const first = await post('events', batchOf(events));
    expect([first.status, first.body.status, first.body.route]).toEqual([202, 'batch', 'events']);
    expect(first.body.items).toMatchObject(
      events.map(({ id, type }) => ({ status: 'accepted', delivery_id: id, event: type })),
    );
    const sessions = first.body.items?.map((item) => item.session_id);
    expect(new Set(sessions).size).toBe(3);

    const more = await post('events', batchOf([...events, event()]));
    expect(more.status).toBe(202);
    expect(more.body.items?.map(({ status }) => status)).toEqual([
      'duplicate',
      'duplicate',
      'duplicate',
      'accepted',
    ]);
    expect(more.body.items?.slice(0, 3).map((item) => item.session_id)).toEqual(sessions);
    // Also an event that comes again alone.
    expect((await post('events', HTTP.binary(events[0] as CloudEvent<unknown>))).status).toBe(200);
  });

  it('is answered 200 if it starts nothing, and may be empty', async () => {
    const ignored = await post('paid', batchOf([event(), event()]));
    expect([ignored.status, ignored.body.items?.map(({ reason }) => reason)]).toEqual([
      200,
      ['event', 'event'],
    ]);
    expect(await post('events', batchOf([]))).toMatchObject({ status: 200, body: { items: [] } });
  });

  it('takes the other events if one is refused for good', async () => {
    const good = event({ data: { host: 'example.com' } });
    const { status, body } = await post('addressed', batchOf([event({ data: {} }), good]));
    expect([status, body.items?.map((item) => item.status)]).toEqual([202, ['refused', 'accepted']]);
    expect(body.items?.[0]?.error).toContain('url');
    // Nothing is taken: then the status says so.
    expect((await post('addressed', batchOf([event({ data: {} })]))).status).toBe(400);
  });

  it('is refused whole while a repeat can help, and the repeat goes on where it stopped', async () => {
    const events = [event(), event(), event()];
    expect((await post('limited', batchOf(events))).status).toBe(429);
    const taken = await post('limited', batchOf(events.slice(0, 2)));
    expect(taken.body.items?.map(({ status }) => status)).toEqual(['duplicate', 'duplicate']);
  });

  it('is bounded, and is a list', async () => {
    const many = Array.from({ length: MOST_EVENTS + 1 }, (_, index) => ({ id: String(index) }));
    expect((await post('events', batchOf(many))).status).toBe(413);
    const headers = { 'content-type': 'application/cloudevents-batch+json' };
    expect((await post('events', { headers, body: '{}' })).status).toBe(400);
    const deep = `[${'['.repeat(50_000)}${']'.repeat(50_000)}]`;
    expect((await post('events', { headers, body: deep })).status).toBe(400);
  });
});

describe('the handshake of Event Grid', () => {
  const ask = async (route: string, headers: Record<string, string>) =>
    fetch(`${ingress.baseUrl}/webhooks/${route}`, { method: 'OPTIONS', headers });

  it('is granted without a secret, for the rate that the route allows', async () => {
    const headers = {
      'WebHook-Request-Origin': 'eventgrid.azure.net',
      'WebHook-Request-Rate': '120',
      'WebHook-Request-Callback': 'http://127.0.0.1:1/called',
    };
    const answer = await ask('events', headers);
    expect([answer.status, await answer.text()]).toEqual([200, '']);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      allow: 'OPTIONS, POST',
      'webhook-allowed-origin': 'eventgrid.azure.net',
      'webhook-allowed-rate': '120',
    });
    expect((await ask('limited', headers)).headers.get('webhook-allowed-rate')).toBe('2');
  });

  it('is not granted for a route that does not exist or is disabled, or to what is no host', async () => {
    const headers = { 'WebHook-Request-Origin': 'eventgrid.azure.net' };
    expect((await ask('nowhere', headers)).status).toBe(404);
    expect((await ask('disabled', headers)).status).toBe(403);
    expect((await ask('events', { 'WebHook-Request-Origin': 'a host' })).status).toBe(400);
    const plain = await ask('events', {});
    expect([plain.status, plain.headers.get('webhook-allowed-origin')]).toEqual([200, null]);
  });
});
