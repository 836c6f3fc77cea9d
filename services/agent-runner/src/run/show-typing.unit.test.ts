import type { Config } from '@angelia/contracts';
import type { Loaded } from '@angelia/sessions';
import { expect, it } from '@jest/globals';
import { showTyping } from './show-typing.ts';

it('tells delivery of a run only if its answer goes to a platform with an enabled chat', () => {
  const told: string[] = [];
  const start = (target: string, chats: object) =>
    showTyping(
      { id: 's-1', state: { created: { deliver: { target } } } } as unknown as Loaded,
      { chats } as Pick<Config, 'chats'>,
      { ping: (subject) => told.push(subject) },
    );
  start('telegram', {});
  start('http', { home: { platform: 'telegram', enabled: true } });
  start('telegram', { home: { platform: 'telegram', enabled: false } });
  expect(told).toEqual([]);
  start('telegram', { home: { platform: 'telegram', enabled: true } });
  expect(told).toEqual(['angelia.typing.s-1']);
});
