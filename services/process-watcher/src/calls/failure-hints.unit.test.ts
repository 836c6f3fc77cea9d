import { expect, it } from '@jest/globals';
import { hintFor } from './failure-hints.ts';

// As the programs printed it: Claude Code 2.1.197, codex 0.169.0, qwen 0.15.10.
it.each([
  ['Credit balance is too low', 'no credit left'],
  ['Not logged in · Please run /login', 'Put ANTHROPIC_API_KEY into env'],
  [
    'No auth type is selected. Please configure an auth type (e.g. via settings or `--auth-type`) before running in non-interactive mode.',
    '--auth-type openai',
  ],
  ['No conversation found with session ID: 22222222-1111-7111-8111-111111111111', 'begin a new one'],
  [
    'warning: Falling back from WebSockets to HTTPS transport. stream disconnected before completion: failed to lookup address information: Name does not resolve',
    'process_watcher.network',
  ],
])('%s', (printed, hint) => {
  expect(hintFor(`before\n${printed}\nafter`)).toContain(hint);
});

it('there is no hint for what is not known', () => {
  expect(hintFor('Segmentation fault')).toBe(null);
  expect(hintFor('')).toBe(null);
});
