import { describe, expect, it } from '@jest/globals';
import { quietAnswer, readInteraction } from './discord-interaction.ts';

const mason = { id: '53908232506183680', username: 'mason', global_name: 'Mason', avatar: null };
/** The examples of Discord's reference. */
const interaction = {
  version: 1,
  id: '846462639134605312',
  application_id: '5',
  token: 'A_UNIQUE_TOKEN',
  guild_id: '290926798626357999',
  channel_id: '645027906669510667',
  channel: { id: '645027906669510667', type: 0 },
  member: { user: mason, nick: null, roles: ['539082325061836999'], permissions: '2147483647' },
};
const clicked = {
  ...interaction,
  type: 3,
  message: { id: '900', type: 0, content: 'Which one?' },
  data: { component_type: 2, custom_id: 'a1.x.1.deny' },
};
const { guild_id: _guild, member: _member, ...alone } = interaction;
const typed = {
  ...alone,
  type: 2,
  user: mason,
  channel: { id: '645027906669510667', type: 1 },
  data: { id: '77', name: 'resume', type: 1, options: [{ name: 'text', type: 3, value: 'some-id' }] },
};

describe('a click on a button', () => {
  it('has the message, the data, and what Discord wants back', () => {
    expect(readInteraction(clicked)).toEqual({
      kind: 'click',
      updateId: '5:846462639134605312',
      place: { platform: 'discord', chat: '645027906669510667', thread: null },
      from: { id: '53908232506183680', name: 'Mason', bot: false },
      message: '900',
      data: 'a1.x.1.deny',
      acknowledgement: { id: '846462639134605312', token: 'A_UNIQUE_TOKEN', application: '5' },
    });
  });

  it('in a thread knows the channel around it', () => {
    const channel = { id: '55', type: 11, parent_id: '44' };
    expect(readInteraction({ ...clicked, channel_id: '55', channel })).toMatchObject({
      place: { chat: '55', thread: '55', parent: '44' },
    });
  });
});

describe('a command of the menu', () => {
  it('is a message to us with a command, in a conversation of two as well', () => {
    expect(readInteraction(typed)).toMatchObject({
      kind: 'message',
      updateId: '5:846462639134605312',
      from: { id: '53908232506183680' },
      text: '/resume some-id',
      command: { name: 'resume', rest: 'some-id' },
      direct: true,
      mentioned: true,
      answerTo: { channel_id: '645027906669510667' },
    });
  });

  it('is answered for the person alone; a click may have nothing to show', () => {
    expect(quietAnswer('Received.')).toMatchObject({ type: 4, data: { content: 'Received.', flags: 64 } });
    expect(quietAnswer('')).toEqual({ type: 6 });
  });

  it.each([
    ['an autocompletion', { ...typed, type: 4 }],
    ['a channel that leads elsewhere', { ...typed, channel_id: '../../users/1' }],
    ['nothing', {}],
    ['a text', 'x'],
  ])('%s starts nothing', (_, raw) => {
    expect(readInteraction(raw)).toMatchObject({ kind: 'other' });
  });
});
