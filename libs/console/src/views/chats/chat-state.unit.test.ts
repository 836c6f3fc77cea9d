import { describe, expect, it } from '@jest/globals';
import type { Chat } from '../../api/calls/chat-calls.ts';
import { chatState } from './chat-state.ts';

const chat: Chat = {
  name: 'home',
  platform: 'telegram',
  receive: 'connection',
  enabled: true,
  webhook_url: null,
  connection: { leading: true, connected: true, error: null },
};
const connection = (over: Partial<NonNullable<Chat['connection']>>) =>
  chatState({ ...chat, connection: { leading: true, connected: false, error: null, ...over } }).text;

describe('the state of a chat', () => {
  it('with a connection is that of the connection', () => {
    expect(chatState(chat).text).toBe('Connected');
    expect(connection({})).toBe('Connecting');
    expect(connection({ error: 'Unauthorized' })).toBe('Not connected');
    expect(connection({ leading: false })).toBe('With another replica');
  });

  it('with a webhook says whether the platform knows where to send', () => {
    const webhook = { ...chat, receive: 'webhook' as const, connection: null };
    expect(chatState(webhook)).toEqual({ tone: 'bad', text: 'No public_url' });
    expect(chatState({ ...webhook, webhook_url: 'https://a.example/chats' }).text).toBe('Takes webhooks');
  });

  it('is disabled, whatever else it is', () => {
    expect(chatState({ ...chat, enabled: false }).text).toBe('Disabled');
  });
});
