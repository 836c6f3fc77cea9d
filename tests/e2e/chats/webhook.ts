import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stack } from '../shared-stack.ts';
import { newChat, SECRET, sessionTitled, shown, telegram, titled, turnsOf } from './chat.ts';

/** Changes how the chat receives, without a restart. */
export async function change(from: 'connection' | 'webhook', to: 'connection' | 'webhook'): Promise<void> {
  const file = join(stack.dataDir, 'angelia.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace(`receive: ${from}`, `receive: ${to}`));
  for (const baseUrl of stack.baseUrls) {
    const response = await fetch(new URL('/v1/config/reload', baseUrl), {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.adminToken}` },
    });
    expect(response.status).toBe(200);
  }
}

const AT_ONCE = 12;

export function webhook(): void {
  describe('the same chat by webhook', () => {
    beforeAll(async () => {
      await change('connection', 'webhook');
      await telegram.inbox.call('setWebhook', {
        url: new URL('/chats/telegram/home', stack.baseUrl).href,
        secret_token: SECRET,
      });
    });
    afterAll(async () => {
      await telegram.inbox.call('deleteWebhook', {});
      await change('webhook', 'connection');
    });

    it('takes an update once, although Telegram repeats it because we are down', async () => {
      await stack.hold('ingress');
      const chat = newChat();
      const before = telegram.inbox.attempts();
      const update = telegram.inbox.say({ chat, text: 'while we were down' });
      await eventually(() => telegram.inbox.attempts() > before + 5);
      await stack.resume('ingress');
      await shown(chat, 'answer to: while we were down');
      // Our answers got lost, too.
      for (let n = 0; n < 10; n += 1) expect(await telegram.inbox.repeat(update)).toBe(200);
      const { id } = await sessionTitled('while we were down');
      const [, ...more] = await titled('while we were down');
      expect([await turnsOf(id), more]).toEqual([['while we were down'], []]);
    });

    it('takes each update once, although ingress is killed (-9) between taking and answering them', async () => {
      const texts = Array.from({ length: AT_ONCE }, (_, n) => `promised ${n}`);
      const pid = stack.pid('ingress');
      const updates = texts.map((text) => telegram.inbox.say({ chat: newChat(), text }));
      const isConfirmed = ({ update_id: id }: { readonly update_id: number }) =>
        !telegram.inbox.unconfirmed().some((one) => one.update_id === id);
      // In the same moment in which the first answer arrived: others are taken, and their answers never come.
      await eventually(() => updates.some(isConfirmed), { everyMs: 1 });
      stack.kill('ingress');
      await stack.restarted('ingress', pid);
      await eventually(() => updates.every(isConfirmed));
      for (const text of texts) await sessionTitled(text);
      for (const update of updates) expect(await telegram.inbox.repeat(update)).toBe(200);
      for (const text of texts) {
        const sessions = await titled(text);
        expect([sessions.length, await turnsOf(sessions[0]?.id ?? '')]).toEqual([1, [text]]);
      }
    });

    it('starts nothing for a forged signature', async () => {
      const address = new URL('/chats/telegram/home', stack.baseUrl);
      const response = await fetch(address, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': `${SECRET}x` },
        body: '{"update_id": 1}',
      });
      expect(response.status).toBe(401);
    });
  });
}
