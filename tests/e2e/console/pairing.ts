import { eventually, startTelegram, type TelegramStandIn } from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, stack } from '../shared-stack.ts';
import { violations } from './accessibility.ts';
import { open, signedIn } from './visit.ts';

const TOKEN = '4711:a-bot-of-the-console';
const ADA = 70_001;

let telegram: TelegramStandIn;

const say = (text: string) => telegram.inbox.say({ chat: ADA, from: { id: ADA }, text });

export function pairing(): void {
  addToStack(async () => {
    telegram = await startTelegram({ token: TOKEN });
    return {
      targets: { telegram: { bot_token: TOKEN, api_base: telegram.url } },
      chats: { 'from-console': { platform: 'telegram', receive: 'connection', speakers: {} } },
    };
  });

  afterAll(() => telegram?.stop());

  describe('a code of the console', () => {
    it('lets a person in to a chat, until it is revoked', async () => {
      await signedIn(async (page) => {
        await open(page, 'Chats');
        await page.getByText('Connected', { exact: true }).waitFor();
        await page.getByRole('button', { name: 'Let somebody in to from-console' }).click();
        await page.getByLabel('Name of the person or the group').fill('Ada');
        expect(await violations(page)).toEqual([]);
        await page.getByRole('button', { name: 'Make a code' }).click();
        const dialog = page.getByRole('dialog', { name: 'A code for Ada' });
        const line = (await dialog.getByText(/^\/pair /).textContent()) ?? '';
        await dialog.getByText('not used yet').waitFor();
        expect(await violations(page)).toEqual([]);
        say(line);
        await dialog.getByText('Ada may speak now').waitFor();
        await dialog.getByRole('button', { name: 'Done' }).click();
        expect(await page.content()).not.toContain(line);
        const letIn = page.getByRole('region', { name: 'Let in to from-console by a code' });
        await letIn
          .getByRole('row')
          .filter({ hasText: `person ${ADA}` })
          .waitFor();
        say('Hello from Ada');
        await eventually(async () => (await sessionsOf('Hello from Ada')) === 1);

        expect(await violations(page)).toEqual([]);
        await letIn.getByRole('button', { name: 'Revoke Ada' }).click();
        expect(await violations(page)).toEqual([]);
        await page.getByRole('button', { name: 'Revoke', exact: true }).click();
        await page.getByText('Nobody was let in by a code.').waitFor();
        const { items } = await stack.adminGet<{ items: unknown[] }>('/v1/chats/from-console/pairings');
        expect(items).toEqual([]);
      });
    });
  });
}

async function sessionsOf(title: string): Promise<number> {
  const { items } = await stack.adminGet<{ items: unknown[] }>(`/v1/sessions?q=${encodeURIComponent(title)}`);
  return items.length;
}
