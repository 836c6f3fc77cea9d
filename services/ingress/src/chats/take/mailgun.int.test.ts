import { createHash, createHmac } from 'node:crypto';
import { createTestDatabase, type TestDatabase } from '@angelia/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';

// Mailgun signs a time and a random token, and not the mail. Who has seen one request could sign any mail with it for hours.

const KEY = 'key-of-mailgun';
let database: TestDatabase;
let ingress: TestIngress;

beforeAll(async () => {
  database = await createTestDatabase();
  ingress = await startIngress({
    databaseUrl: database.url,
    config: {
      models: { demo: { provider: 'builtin', model: 'echo' } },
      agents: { default: { kind: 'llm', model: 'demo' } },
      targets: { email: { host: '127.0.0.1', security: 'none', from: 'bot@example.com' } },
      chats: {
        mail: {
          platform: 'email',
          receive: 'webhook',
          provider: { name: 'mailgun', signing_key: KEY },
          authserv_id: 'mxa.mailgun.org',
          speakers: { users: ['jane@people.test'] },
        },
      },
    },
  });
});
afterAll(async () => {
  await ingress?.close();
  await database?.drop();
});

async function post(token: string, id: string, text: string) {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const headers = [
    ['Authentication-Results', 'mxa.mailgun.org; dkim=pass header.d=people.test'],
    ['From', 'Jane <jane@people.test>'],
    ['Date', new Date().toUTCString()],
    ['Message-ID', id],
  ];
  const signature = createHmac('sha256', KEY)
    .update(timestamp + token)
    .digest('hex');
  const form = {
    timestamp,
    token,
    signature,
    'body-plain': text,
    'message-headers': JSON.stringify(headers),
  };
  const response = await fetch(`${ingress.baseUrl}/chats/email/mail`, {
    method: 'POST',
    body: new URLSearchParams(form),
  });
  await response.body?.cancel();
  const key = createHash('sha256')
    .update(JSON.stringify(['jane@people.test', id]))
    .digest('hex');
  return { status: response.status, session: await ingress.log.streams.findByKey(`chat:email:mail:${key}`) };
}

it('a token of Mailgun is good for one mail, also if Mailgun repeats that one', async () => {
  const token = 'a'.repeat(50);
  const taken = await post(token, '<1@people.test>', 'deploy it');
  expect(taken).toEqual({ status: 200, session: expect.any(String) });
  expect(await post(token, '<1@people.test>', 'deploy it')).toEqual(taken);
  expect(await post(token, '<2@people.test>', 'rm -rf /')).toEqual({ status: 200, session: null });
  expect(await post('b'.repeat(50), '<2@people.test>', 'and test it')).toMatchObject({
    session: expect.any(String),
  });
});
