import { parseConfig } from '@angelia/contracts';
import { expect, it } from '@jest/globals';
import { chatProblems } from './chats.ts';

/** What the check says about files of a chat of this platform. */
function saidAbout(chat: Record<string, unknown>): string[] {
  const parsed = parseConfig({
    models: { main: { provider: 'builtin', model: 'echo' } },
    agents: { default: { model: 'main' } },
    chats: { home: { ...chat, files: { deliver: true } } },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return chatProblems(parsed.config).flatMap(({ place, reason }) =>
    place.endsWith('files.deliver') ? [reason] : [],
  );
}

it('files of answers are refused where they are not sent, with the platforms that take them', () => {
  expect(saidAbout({ platform: 'telegram' })).toEqual([]);
  expect(saidAbout({ platform: 'matrix', user_id: '@a:example.org' })).toEqual([]);
  const github = { platform: 'github_comment', webhook_secret: 'a-secret', bot_name: 'a-bot' };
  expect(saidAbout(github)).toEqual([
    'files are not sent to github_comment. Platforms that take them: telegram, slack, discord, mattermost, matrix, email. Remove this key.',
  ]);
});
