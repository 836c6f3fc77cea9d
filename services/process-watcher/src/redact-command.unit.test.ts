import { expect, it } from '@jest/globals';
import { redactCommand } from './redact-command.ts';

it.each([
  ['curl -H "Authorization: Bearer abcdef123456" x', 'curl -H "Authorization: Bearer [redacted]" x'],
  ['psql postgres://me:hunter2@db/x', 'psql postgres://me:[redacted]@db/x'],
  ['API_KEY=abc deploy', 'API_KEY=[redacted] deploy'],
  ['export MY_TOKEN="a b c" && run', 'export MY_TOKEN=[redacted] && run'],
  ['login --password hunter2 --user me', 'login --password [redacted] --user me'],
  ['login --api-key=hunter2', 'login --api-key=[redacted]'],
  ['echo sk-abcdefghijklmnopqrstuv', 'echo [redacted]'],
  [
    'git clone https://ghp_abcdefghijklmnopqrstuvwxyz0123@github.com/a/b',
    'git clone https://[redacted]@github.com/a/b',
  ],
  ['make TARGET=token all; echo password is wrong', 'make TARGET=token all; echo password is wrong'],
])('%s', (command, shown) => {
  expect(redactCommand(command)).toBe(shown);
});
