import { expect, it } from '@jest/globals';
import { currentSession, onSessionChange, sendWithToken } from './session.ts';

const ADDRESS = 'http://127.0.0.1:8644';
const session = (token: string) => ({ actor: 'console', csrf_token: token, expires_at: '' });

/** Answers as ingress does: a change needs the token of the session that the cookie is of. */
function gateway(tokenOfCookie: string) {
  const taken: string[] = [];
  const send = (async (request: Request) => {
    if (request.method === 'GET') return Response.json(session(tokenOfCookie));
    if (request.headers.get('X-Angelia-CSRF') !== tokenOfCookie)
      return Response.json({ error: 'no token', code: 'csrf' }, { status: 403 });
    taken.push(await request.text());
    return new Response(null, { status: 202 });
  }) as typeof fetch;
  return { send, taken };
}

const cancel = () => new Request(`${ADDRESS}/v1/sessions/1/cancel`, { method: 'POST', body: '{"now":true}' });

it('a tab whose session another tab has replaced goes on with the new one, and its change is made once', async () => {
  const first = gateway('first');
  await sendWithToken(cancel(), first.send);
  expect(currentSession()?.csrf_token).toBe('first');
  const { send, taken } = gateway('second');
  let changes = 0;
  const stop = onSessionChange(() => {
    changes += 1;
  });
  expect((await sendWithToken(cancel(), send)).status).toBe(202);
  stop();
  expect({ taken, changes, token: currentSession()?.csrf_token }).toEqual({
    taken: ['{"now":true}'],
    changes: 1,
    token: 'second',
  });
});

it('another refusal is not repeated', async () => {
  let calls = 0;
  const send = (async () => {
    calls += 1;
    return Response.json({ error: 'not allowed', code: 'cross_site' }, { status: 403 });
  }) as typeof fetch;
  expect(await (await sendWithToken(cancel(), send)).json()).toMatchObject({ code: 'cross_site' });
  expect(calls).toBe(1);
});
