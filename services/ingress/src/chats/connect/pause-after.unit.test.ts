import { describe, expect, it } from '@jest/globals';
import { CallRefused } from '../platforms/call-json.ts';
import { ChatRefused } from '../platforms/chat-refused.ts';
import { TelegramRefused } from '../platforms/telegram-api.ts';
import { pauseAfterMs } from './pause-after.ts';

describe('the pause after a connection broke', () => {
  it('grows to a minute', () => {
    const pauses = [1, 2, 3, 6, 7, 100].map((failures) => pauseAfterMs(new Error('away'), failures));
    expect(pauses).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000]);
  });

  it('is as long as the platform wants, an hour at most', () => {
    expect(pauseAfterMs(new TelegramRefused('getUpdates', 429, 'Too Many Requests', 300), 1)).toBe(300_000);
    expect(pauseAfterMs(new CallRefused('Discord refused', 429, {}, 90), 7)).toBe(90_000);
    expect(pauseAfterMs(new CallRefused('Discord refused', 429, {}, 1e9), 1)).toBe(3_600_000);
  });

  it('is not shorter because the platform wants little', () => {
    expect(pauseAfterMs(new TelegramRefused('getUpdates', 429, 'Too Many Requests', 1), 7)).toBe(60_000);
    expect(pauseAfterMs(new TelegramRefused('getUpdates', 502, 'Bad Gateway', null), 1)).toBe(1_000);
  });

  it('is an hour if only a person can help', () => {
    expect(pauseAfterMs(new ChatRefused('a wrong token'), 1)).toBe(3_600_000);
  });
});
