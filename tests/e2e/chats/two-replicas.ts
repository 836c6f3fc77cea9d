import { eventually } from '@angelia/testkit';
import { describe, expect, it } from '@jest/globals';
import { stack } from '../shared-stack.ts';
import { answersIn, newChat, shown, telegram, titled, turnsOf } from './chat.ts';

interface Chats {
  readonly items: readonly {
    readonly name: string;
    readonly connection: { readonly leading: boolean; readonly connected: boolean };
  }[];
}

/** Which replica has the connection. */
async function leads(baseUrl: string): Promise<boolean> {
  const response = await fetch(new URL('/v1/chats', baseUrl), {
    headers: { authorization: `Bearer ${stack.adminToken}` },
  }).catch(() => null);
  const chats = (await response?.json()) as Chats | undefined;
  const home = chats?.items.find(({ name }) => name === 'home');
  return home?.connection.connected === true && home.connection.leading;
}

export function twoReplicas(): void {
  describe('two replicas of ingress', () => {
    it('poll by one of them; a frozen leader that wakes takes nothing twice', async () => {
      const names = ['ingress', 'ingress-2'];
      const leader = await eventually(async () => {
        const leading = await Promise.all(stack.baseUrls.map((url) => leads(url)));
        expect(leading.filter(Boolean).length).toBeLessThanOrEqual(1);
        return names[leading.indexOf(true)];
      });
      const other = names.indexOf(leader) === 0 ? 1 : 0;
      const chat = newChat();
      // Its getUpdates is answered while it is frozen: the answer waits for it in its socket.
      stack.freeze(leader);
      telegram.inbox.say({ chat, text: 'to a frozen leader' });
      await eventually(() => leads(stack.baseUrls[other] ?? ''));
      await shown(chat, 'answer to: to a frozen leader');
      telegram.inbox.say({ chat, text: 'to the new leader' });
      await shown(chat, 'answer to: to the new leader');
      stack.thaw(leader);
      await eventually(async () => !(await leads(stack.baseUrls[names.indexOf(leader)] ?? '')));
      // It has read its answer by the time at which it serves others again.
      await eventually(
        async () => (await fetch(new URL('/readyz', stack.baseUrls[names.indexOf(leader)]))).ok,
      );
      telegram.inbox.say({ chat, text: 'to whoever leads' });
      await shown(chat, 'answer to: to whoever leads');

      // The list follows the log in its order. What was taken before the last message is in it then.
      const inputs = await eventually(async () => {
        const sessions = await titled('to a frozen leader');
        const all = (await Promise.all(sessions.map(({ id }) => turnsOf(id)))).flat();
        return all.includes('to whoever leads') && all;
      });
      expect(inputs.sort()).toEqual(['to a frozen leader', 'to the new leader', 'to whoever leads']);
      expect(answersIn(chat)).toEqual([
        'answer to: to a frozen leader',
        'answer to: to the new leader',
        'answer to: to whoever leads',
      ]);
    });
  });
}
