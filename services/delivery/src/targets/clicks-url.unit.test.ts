import { configSchema } from '@angelia/contracts';
import { expect, it } from '@jest/globals';
import { clicksUrl } from './clicks-url.ts';

const here = { host: '127.0.0.1', port: 8644 };
const configOf = (over: object = {}, chat: object = {}) =>
  configSchema.parse({ chats: { team: { platform: 'mattermost', ...chat } }, ...over });
const far = { api_base: 'https://mattermost.example.com' };

it('a click calls the chat by the public URL', () => {
  const config = configOf({ public_url: 'https://hooks.example.com/' });
  expect(clicksUrl(config, 'mattermost', far, here)).toBe('https://hooks.example.com/chats/mattermost/team');
});

it('without a chat, or where the server cannot reach us, there is no address', () => {
  expect(clicksUrl(configOf(), 'mattermost', far, here)).toBeNull();
  const off = configOf({ public_url: 'https://hooks.example.com' }, { enabled: false });
  expect(clicksUrl(off, 'mattermost', far, here)).toBeNull();
  expect(clicksUrl(configOf({ public_url: 'https://x.io' }), 'slack', {}, here)).toBeNull();
});

it('a server on this machine reaches us', () => {
  expect(clicksUrl(configOf(), 'mattermost', { api_base: 'http://localhost:8065' }, here)).toBe(
    'http://127.0.0.1:8644/chats/mattermost/team',
  );
});
