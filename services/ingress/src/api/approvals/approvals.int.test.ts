import { randomBytes } from 'node:crypto';
import { parseConfig, sessionId } from '@angelia/contracts';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { type AnswerLinks, answerLinks } from '@angelia/service-kit';
import { digestOfArguments } from '@angelia/session';
import { eventually, signedPost } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apiCall, expectPromised } from '../../testing/api-call.ts';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { viewsUpToDate } from '../../testing/views.ts';
import { openWorker, type Worker } from '../../testing/worker.ts';

const SECRET = 'webhook-secret';
const MASTER_KEY = randomBytes(32).toString('base64');
const ROUTES = ['listed', 'paged', 'hook'];
const ARGUMENTS = '{"command":"rm -rf <build>"}';
const DIGEST = digestOfArguments(ARGUMENTS);
const config = {
  secret: SECRET,
  agents: {
    default: {
      toolsets: ['terminal'],
      tools: { policy: [{ tool: 'terminal', match: 'rm *', do: 'ask' }], approval_expires_seconds: 600 },
    },
  },
  routes: {
    ...Object.fromEntries(ROUTES.map((name) => [name, { title: 'About {text}' }])),
    guarded: {
      tools: { policy: [{ tool: 'terminal', match: 'sudo *', do: 'deny' }], approvers: ['telegram:1'] },
    },
    'in-no-time': { tools: { approval_expires_seconds: 0.001 } },
  },
};

let database: TestDatabase;
let ingress: TestIngress;
let worker: Worker;
let links: AnswerLinks;

beforeAll(async () => {
  database = await createTestDatabase();
  ingress = await startIngress({
    databaseUrl: database.url,
    config,
    env: { ANGELIA_MASTER_KEY: MASTER_KEY },
  });
  worker = openWorker({ databaseUrl: database.url });
  const parsed = parseConfig(config);
  if (!parsed.ok) throw new Error('config');
  const address = {
    service: 'delivery',
    masterKey: MASTER_KEY,
    host: '127.0.0.1',
    port: ingress.port,
  } as const;
  links = answerLinks(parsed.config, address) as AnswerLinks;
});

afterAll(async () => {
  await worker?.close();
  await ingress?.close();
  await database?.drop();
});

/** A session whose model wants to run something that its policy asks about. */
async function requested(route = 'hook', text = 'x'): Promise<{ id: string; session: string; url: string }> {
  const posted = await signedPost({ baseUrl: ingress.baseUrl, route, secret: SECRET, body: { text } });
  const session = posted.sessionId;
  const id = `${session}.1`;
  await worker.asksFor(session, 'terminal', 'call-1');
  const { version } = await worker.does(session, (state) => ({
    type: 'request-approval',
    generation: state.generation,
    approvalId: id,
    callId: 'call-1',
    tool: 'terminal',
    arguments: ARGUMENTS,
  }));
  return { id, session, url: links.approvalUrl({ sessionId: sessionId(session), output: version }) };
}

const decide = (id: string, body: Record<string, unknown>, headers = {}) =>
  apiCall(ingress, `/v1/approvals/${id}`, { method: 'POST', body, headers });

async function submit(url: string, fields: Record<string, string>) {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(fields) });
  return { status: response.status, text: await response.text() };
}

async function postJson(url: string, body: unknown) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = (await response.json()) as Record<string, unknown>;
  expectPromised('POST', new URL(url).pathname, response.status, answer);
  return { status: response.status, body: answer };
}

interface Event {
  readonly type: string;
  readonly data: Record<string, unknown>;
  readonly meta: { readonly actor: string };
}

async function events(session: string, type: string): Promise<Event[]> {
  const { body } = await apiCall(ingress, `/v1/sessions/${session}/events`);
  return (body.items as Event[]).filter((event) => event.type === type);
}

describe('the policy of a session', () => {
  it('is captured when its webhook is accepted: the rules of the route, then those of the agent', async () => {
    const { session } = await requested('guarded');
    expect((await events(session, 'session.created'))[0]?.data.tools).toEqual({
      policy: [
        { tool: 'terminal', match: 'sudo *', do: 'deny' },
        { tool: 'terminal', match: 'rm *', do: 'ask' },
      ],
      approvers: ['telegram:1'],
      approval_expires_seconds: 600,
    });
  });

  it('cannot come from a route that was made by API', async () => {
    const { status, body } = await apiCall(ingress, '/v1/routes/loose', {
      method: 'PUT',
      body: { agent: 'default', tools: { policy: [{ tool: '*', do: 'allow' }] } },
    });
    expect(status).toBe(400);
    expect(body.error).toContain('`tools`: the rules of a route come before those of its agent');
  });
});

describe('the list of open requests', () => {
  it('shows the oldest first, with everything that a person needs to decide', async () => {
    const first = await requested('listed', 'one');
    const second = await requested('listed', 'two');
    const decided = await requested('listed', 'three');
    await decide(decided.id, { decision: 'deny' });
    await viewsUpToDate(database);
    const { status, body } = await apiCall(ingress, '/v1/approvals?route=listed&count=true');
    expect(status).toBe(200);
    expect((body.items as { id: string }[]).map(({ id }) => id)).toEqual([first.id, second.id]);
    expect(body.count).toBe(2);
    expect((body.items as unknown[])[0]).toEqual({
      id: first.id,
      session_id: first.session,
      title: 'About one',
      route: 'listed',
      agent: 'default',
      turn: 1,
      call_id: 'call-1',
      tool: 'terminal',
      arguments: ARGUMENTS,
      shown: { command: 'rm -rf <build>', others: null },
      digest: DIGEST,
      rule: { tool: 'terminal', match: 'rm *' },
      approvers: [],
      asked_at: expect.any(String),
      expires_at: expect.any(String),
    });
    const waiting = await apiCall(ingress, '/v1/sessions?waiting_for=approval&route=listed');
    expect(waiting.body.items).toHaveLength(2);
    const session = await apiCall(ingress, `/v1/sessions/${first.session}`);
    expect(session.body).toMatchObject({
      status: 'waiting',
      waiting_for: 'approval',
      approval: { id: first.id, tool: 'terminal' },
    });
  });

  it('has pages, and none twice', async () => {
    const ids: string[] = [];
    for (const text of ['a', 'b', 'c']) ids.push((await requested('paged', text)).id);
    await viewsUpToDate(database);
    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await apiCall(ingress, `/v1/approvals?route=paged&limit=2${cursor}`);
      seen.push(...(body.items as { id: string }[]).map(({ id }) => id));
      cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`;
    } while (cursor !== '');
    expect(seen).toEqual(ids);
    expect((await apiCall(ingress, '/v1/approvals?cursor=x')).status).toBe(400);
  });
});

describe('a decision through the API', () => {
  it('is one event that says who decided, by which way, and why', async () => {
    const { id, session } = await requested();
    const { status, body } = await decide(id, {
      decision: 'deny',
      reason: ' use make clean ',
      digest: DIGEST,
    });
    expect([status, body]).toEqual([202, { session_id: session }]);
    const [event] = await events(session, 'approval.decided');
    expect(event?.data).toEqual({
      approval_id: id,
      decision: 'deny',
      scope: 'once',
      actor: 'api',
      way: 'api',
      reason: 'use make clean',
    });
    expect(event?.meta.actor).toBe('api');
  });

  it('of two people at once is one decision: the other is told who decided', async () => {
    const { id, session, url } = await requested();
    const answers = await Promise.all([
      decide(id, { decision: 'approve' }),
      decide(id, { decision: 'deny' }),
      postJson(url, { decision: 'approve' }),
      postJson(url, { decision: 'deny' }),
    ]);
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    const [event, ...more] = await events(session, 'approval.decided');
    expect(more).toEqual([]);
    const { decision, actor } = event?.data ?? {};
    const told = `${actor} ${decision === 'approve' ? 'approved' : 'denied'} it at`;
    for (const { status, body } of answers.filter((one) => one.status !== 202)) {
      expect([409, 410]).toContain(status);
      expect(body.error).toContain(told);
    }
    const { status, body } = await decide(id, { decision: 'approve' });
    expect([status, body.reason]).toEqual([409, 'decided']);
    expect(body.decided).toMatchObject({ by: actor, decision });
  });

  it('after its expiry is refused, and said so, also before a runner has recorded it', async () => {
    // ingress knows the time of the database only about. If it thinks that a request is still open, there is another.
    const { session, url, refused } = await eventually(async () => {
      const asked = await requested('in-no-time');
      const { status, body } = await decide(asked.id, { decision: 'approve' });
      return status !== 202 && { ...asked, refused: { status, reason: body.reason, error: body.error } };
    });
    expect(refused).toMatchObject({ status: 409, reason: 'expired' });
    expect(refused.error).toContain('the time to decide is over');
    expect(await postJson(url, { decision: 'approve' })).toMatchObject({ status: 410 });
    expect(await events(session, 'approval.decided')).toEqual([]);
  });

  it('for other arguments than those that were read is refused, and said so', async () => {
    const { id, session, url } = await requested();
    const other = { decision: 'approve', digest: digestOfArguments('{"command":"rm -rf /"}') };
    const { status, body } = await decide(id, other);
    expect([status, body.reason]).toEqual([409, 'arguments_changed']);
    expect(await postJson(url, other)).toMatchObject({ status: 409 });
    expect(await events(session, 'approval.decided')).toEqual([]);
    expect((await decide(id, { ...other, digest: DIGEST })).status).toBe(202);
  });

  it('with the same idempotency key is taken once', async () => {
    const { id, session } = await requested();
    const headers = { 'idempotency-key': 'k-1' };
    expect((await decide(id, { decision: 'approve' }, headers)).status).toBe(202);
    expect((await decide(id, { decision: 'approve' }, headers)).status).toBe(202);
    expect(await events(session, 'approval.decided')).toHaveLength(1);
  });

  it('needs the admin token, a request that exists, and a decision', async () => {
    const { id, session } = await requested();
    const unsigned = await apiCall(ingress, `/v1/approvals/${id}`, {
      method: 'POST',
      token: null,
      body: { decision: 'approve' },
    });
    expect(unsigned.status).toBe(401);
    expect((await decide(`${session}.2`, { decision: 'approve' })).status).toBe(404);
    expect((await decide('x', { decision: 'approve' })).status).toBe(404);
    expect((await decide(id, { decision: 'perhaps' })).status).toBe(400);
    await worker.does(session, () => ({ type: 'cancel', by: 'test' }));
    const { status, body } = await decide(id, { decision: 'approve' });
    expect([status, body.reason]).toEqual([409, 'ended']);
  });
});

describe('the link of a request', () => {
  it('opens a page that shows the tool, its exact arguments, who asks and for which session', async () => {
    const { session, url } = await requested('hook', 'the build');
    const response = await fetch(url, { headers: { accept: 'text/html' } });
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    for (const shown of [
      'May it run <code><bdi>terminal</bdi></code>?',
      '<pre><bdo dir="ltr">rm -rf &lt;build&gt;</bdo></pre>',
      'Agent <strong><bdi>default</bdi></strong> (route <strong><bdi>hook</bdi></strong>)',
      'About the build',
      `session ${session}`,
      'that matches <code><bdi>rm *</bdi></code> and appends no other command',
      `name="digest" value="${DIGEST}"`,
    ]) {
      expect(text).toContain(shown);
    }
    // Chat programs open links before people do.
    expect(await events(session, 'approval.decided')).toEqual([]);
  });

  it('takes the decision of the form once', async () => {
    const { id, session, url } = await requested();
    const form = { decision: 'approve', scope: 'session', reason: '', digest: DIGEST };
    expect(await submit(url, form)).toMatchObject({
      status: 202,
      text: expect.stringContaining('The call was approved.'),
    });
    expect((await events(session, 'approval.decided')).map(({ data }) => data)).toEqual([
      {
        ...{ approval_id: id, decision: 'approve', scope: 'session' },
        ...{ allows: { tool: 'terminal', match: 'rm *' }, actor: 'link', way: 'link', reason: null },
      },
    ]);
    for (const again of [await submit(url, form), await submit(url, { ...form, decision: 'deny' })]) {
      expect(again.status).toBe(410);
      expect(again.text).toContain('link approved it at');
    }
    expect((await apiCall(ingress, `/v1/sessions/${session}`)).body).toMatchObject({ status: 'queued' });
  });

  it('is not enough if the approvers are others', async () => {
    const { session, url } = await requested('guarded');
    const { status, body } = await postJson(url, { decision: 'approve' });
    expect(status).toBe(403);
    expect(body.error).toContain('You may not decide about this request');
    expect((await fetch(url)).status).toBe(403);
    expect(await events(session, 'approval.decided')).toEqual([]);
  });

  it('that we did not make, or that is for a question, opens nothing', async () => {
    const { session, url } = await requested();
    expect((await fetch(`${url}x`)).status).toBe(404);
    const other = links.approvalUrl({ sessionId: sessionId(session), output: 1 });
    expect((await fetch(other)).status).toBe(404);
  });
});
