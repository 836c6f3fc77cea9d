import { configSchema } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { parseAddress } from './addresses.ts';
import { targetOptions } from './schemas.ts';

const config = configSchema.parse({
  targets: {
    telegram: { bot_token: '1:a', chat_id: 'home', message_thread_id: 7 },
    slack: { bot_token: 'xoxb-a', channel: '#general' },
    discord: { bot_token: 'a' },
  },
});

type Name = 'telegram' | 'slack' | 'discord';

it('each platform has a default `api_base`', () => {
  expect(targetOptions(config, 'telegram').api_base).toBe('https://api.telegram.org');
  expect(targetOptions(config, 'slack').api_base).toBe('https://slack.com/api');
  expect(targetOptions(config, 'discord').api_base).toBe('https://discord.com/api/v10');
});

describe('a valid address', () => {
  it.each<[Name, Record<string, unknown>, object]>([
    ['telegram', {}, { chat_id: 'home', message_thread_id: '7' }],
    ['telegram', { chat_id: -1001 }, { chat_id: '-1001' }],
    ['telegram', { chat_id: '@news', thread_id: '42' }, { chat_id: '@news', thread_id: '42' }],
    ['slack', {}, { channel: '#general' }],
    ['slack', { channel: 'C1', thread_ts: '1.000100' }, { channel: 'C1', thread_ts: '1.000100' }],
    ['discord', { channel_id: '123456789012345678' }, { channel_id: '123456789012345678' }],
    ['discord', { thread_id: '5' }, { thread_id: '5' }],
  ])('%s %j is kept as %j', (name, extra, to) => {
    expect(parseAddress(config, name, extra)).toEqual({ ok: true, to });
  });
});

describe('an invalid address', () => {
  it.each<[Name, Record<string, unknown>, string]>([
    ['telegram', { chat_id: '' }, 'chat_id'],
    ['telegram', { chat_id: 'two words' }, 'chat_id'],
    ['telegram', { chat_id: '1', message_thread_id: 'x' }, 'message_thread_id'],
    ['telegram', { chat_id: '1', message_thread_id: '2', thread_id: '3' }, ''],
    ['slack', { channel: 'a channel' }, 'channel'],
    // The zeros at its end are gone.
    ['slack', { channel: 'C1', thread_ts: 1.0001 }, 'thread_ts'],
    ['discord', {}, ''],
    ['discord', { channel_id: '../users/@me' }, 'channel_id'],
    // Rounded when it was read.
    ['discord', { channel_id: 1_234_567_890_123_456_800 }, 'channel_id'],
  ])('%s %j is refused with its key %j', (name, extra, key) => {
    expect(parseAddress(config, name, extra)).toMatchObject({ ok: false, problems: [{ key }] });
  });
});
