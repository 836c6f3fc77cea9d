import { eventually } from '@angelia/testkit';
import { describe, expect, it } from '@jest/globals';
import { stack } from '../shared-stack.ts';
import { newChat, sessionTitled, telegram, titled, turnsOf } from './chat.ts';

export function killedWhileTaking(): void {
  describe('ingress killed (-9) after it took an update and before Telegram knows', () => {
    it('takes it once', async () => {
      const chat = newChat();
      // The getUpdates that confirms this one waits for the next update.
      telegram.inbox.say({ chat: newChat(), text: 'before it' });
      await eventually(() => telegram.inbox.unconfirmed().length === 0);
      const update = telegram.inbox.say({ chat, text: 'once only' });
      // Nothing is confirmed from now on: the next getUpdates hangs.
      telegram.behaveToReads({ kind: 'hang' });
      const { id } = await sessionTitled('once only');
      const unconfirmed = () =>
        telegram.inbox.unconfirmed().some((one) => one.update_id === update.update_id);
      const pids = ['ingress', 'ingress-2'].map((name) => [name, stack.kill(name)] as const);
      expect(unconfirmed()).toBe(true);
      telegram.behaveToReads({ kind: 'take' });
      for (const [name, pid] of pids) await stack.restarted(name, pid);
      for (const [name] of pids) await eventually(() => stack.ready(name));
      // Telegram brings it again, and then something new.
      telegram.inbox.say({ chat, text: 'and this' });
      await eventually(() => !unconfirmed());
      await eventually(async () => (await titled('once only')).length > 0);
      const all = await eventually(async () => {
        const sessions = await titled('once only');
        const turns = (await Promise.all(sessions.map((session) => turnsOf(session.id)))).flat();
        return turns.includes('and this') && turns;
      });
      expect(all.filter((input) => input === 'once only')).toHaveLength(1);
      expect(await turnsOf(id)).toContain('once only');
    });
  });
}
