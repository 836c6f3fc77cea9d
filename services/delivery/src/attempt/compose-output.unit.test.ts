import type { RecordedEvent, SessionId } from '@angelia/contracts';
import type { Loaded } from '@angelia/sessions';
import { describe, expect, it } from '@jest/globals';
import type { DeliveryContext } from '../delivery-context.ts';
import type { OutboundMessage } from '../targets/target.ts';
import { type ComposeInput, composeOutput } from './compose-output.ts';
import { outputMessage } from './output-message.ts';

const id = '0192aaaa-0000-7000-8000-000000000001' as SessionId;
const links = {
  url: ({ output }: { output: number }) => `https://hooks.example.com/answers/t.${output}.mac`,
  approvalUrl: ({ output }: { output: number }) => `https://hooks.example.com/approvals/t.${output}.mac`,
};

function asked(question: string, choices: string[]): Loaded {
  const events = [
    { version: 1, type: 'session.created', data: {} },
    { version: 2, type: 'clarification.requested', data: { question, choices } },
  ] as unknown as RecordedEvent[];
  const state = { created: { route: 'hook', deliveryId: 'd-1' } };
  return { id, events, version: 2, state } as unknown as Loaded;
}

describe('the message of a question', () => {
  it('has the question, its numbered choices and the link for the answer', () => {
    expect(outputMessage(asked('Red or blue?', ['Red', 'Blue']), 2, false, { links })).toEqual({
      type: 'clarification',
      text: 'Red or blue?\n\n1. Red\n2. Blue\n\nAnswer here: https://hooks.example.com/answers/t.2.mac',
      sessionId: id,
      version: 2,
      route: 'hook',
      deliveryId: 'd-1',
      possibleDuplicate: false,
    });
    expect(outputMessage(asked('Which?', []), 2, true, { links }).text).toBe(
      'Which?\n\nAnswer here: https://hooks.example.com/answers/t.2.mac',
    );
  });

  it('says how else to answer if there is no link', () => {
    expect(outputMessage(asked('Which?', []), 2, false, { links: null }).text).toBe(
      `Which?\n\nAnswer with POST /v1/sessions/${id}/messages`,
    );
  });

  it.each([
    ['http', 'Answer here: https://'],
    ['telegram', 'Answer here: https://'],
    ['log', 'Answer with POST'],
  ])('goes to %s with "%s": the key to the answer never appears in a log', (name, told) => {
    const target = { name, compose: ({ text }: OutboundMessage) => [{ text }] };
    const plan = { output: 2, possibleDuplicate: false, taken: 0 };
    const configured = { target, settings: {} } as unknown as ComposeInput['configured'];
    const context = {
      answerLinks: links,
      linksAreLocal: true,
      chats: new Set(),
    } as unknown as DeliveryContext;
    expect(composeOutput({ loaded: asked('Which?', []), plan, configured }, context)).toMatchObject({
      kind: 'composed',
      chunks: [{ text: expect.stringContaining(told) }],
    });
  });
});

describe('a question where clicks come back', () => {
  const chat = { platform: 'telegram', buttons: { most: 2, labelLength: 6 } };
  const data = (action: string) => `a1.AZKqqgAAcACAAAAAAAAAAQ.2.${action}`;
  const asking = (choices: string[], over: Partial<typeof chat> | { buttons: null } = {}) =>
    outputMessage(asked('Which?', choices), 2, false, { links, chat: { ...chat, ...over } });

  it('has its choices as buttons and no link, and takes free text', () => {
    const { text, buttons } = asking(['Red', 'Blue']);
    expect(text).toBe(
      'Which?\n\n1. Red\n2. Blue\n\nChoose below, or reply to this message with an answer of your own.',
    );
    expect(buttons).toEqual([
      { label: 'Red', data: data('choice-0') },
      { label: 'Blue', data: data('choice-1') },
    ]);
  });

  it('has as many buttons as the platform takes, with labels that fit; the text has all choices', () => {
    const { text, buttons } = asking(['  the\nred  one', 'abcd😀fg', 'third']);
    expect(text).toContain('3. third\n\nChoose below, or reply to this message with the number of a choice');
    expect(buttons?.map(({ label }) => label)).toEqual(['the r…', 'abcd…']);
  });

  it('can be answered by reply only, if it has no choices; by reply or link, if the platform has no buttons', () => {
    expect(asking([])).toMatchObject({ text: 'Which?\n\nReply to this message with your answer.' });
    expect(asking([]).buttons).toBeUndefined();
    expect(asking(['Red'], { buttons: null }).text).toMatch(
      /1\. Red\n\nReply to this message, or answer here: http/,
    );
    const comment = { platform: 'github_comment', buttons: null };
    expect(asking([], comment).text).toContain('Answer with a comment that mentions me.');
    expect(asking(['Red'], comment).text).toMatch(/Answer with a comment that mentions me, or here: http/);
  });

  it('has buttons for as long as the config has a chat of this platform, and only there', () => {
    const target = { name: 'telegram', buttons: chat.buttons, compose: () => [] };
    const plan = { output: 2, possibleDuplicate: false, taken: 0 };
    const composedFor = (chats: string[]) => {
      const configured = { target, settings: {} } as unknown as ComposeInput['configured'];
      const context = { answerLinks: links, linksAreLocal: false, chats: new Set(chats) };
      const result = composeOutput(
        { loaded: asked('Which?', ['Red']), plan, configured },
        context as unknown as DeliveryContext,
      );
      return result.kind === 'composed' ? result.message : null;
    };
    expect(composedFor(['telegram'])?.buttons).toHaveLength(1);
    expect(composedFor(['slack'])?.buttons).toBeUndefined();
    expect(composedFor(['slack'])?.text).toContain('https://');
  });
});

describe('a question in the log', () => {
  const composed = (linksAreLocal: boolean, name = 'log') => {
    const target = { name, compose: ({ text }: OutboundMessage) => [{ text }] };
    const configured = { target, settings: {} } as unknown as ComposeInput['configured'];
    const plan = { output: 2, possibleDuplicate: false, taken: 0 };
    const context = { answerLinks: links, linksAreLocal, chats: new Set() } as unknown as DeliveryContext;
    const result = composeOutput({ loaded: asked('Which?', []), plan, configured }, context);
    return result.kind === 'composed' ? (result.chunks[0]?.text ?? '') : '';
  };

  it('says that its link could be opened on this machine only, if public_url is not set', () => {
    expect(composed(true)).toMatch(/Answer with POST .*\n\n\(`public_url` of the config is not set/);
    expect(composed(false)).not.toContain('public_url');
    // Elsewhere a person reads it, who cannot change the config.
    expect(composed(true, 'telegram')).not.toContain('public_url');
  });
});

describe('the message of a request for approval', () => {
  const requested = (written: string, over: Record<string, unknown> = {}): Loaded => {
    const data = {
      approval_id: `${id}.1`,
      tool: 'terminal',
      arguments: written,
      approvers: [],
      rule: { tool: 'terminal', match: null },
      expires_at: '2030-01-02T03:04:05.000Z',
      ...over,
    };
    const events = [
      { version: 1, type: 'session.created', data: {} },
      { version: 2, type: 'approval.requested', data },
    ] as unknown as RecordedEvent[];
    const state = { created: { route: 'hook', deliveryId: 'd-1' } };
    return { id, events, version: 2, state } as unknown as Loaded;
  };
  const text = (loaded: Loaded, through: typeof links | null = links) =>
    outputMessage(loaded, 2, false, { links: through }).text;
  const chat = { platform: 'telegram', buttons: { most: 8, labelLength: 40 } };
  const inChat = (approvers: string[], buttons: typeof chat.buttons | null = chat.buttons) =>
    outputMessage(requested('{}', { approvers }), 2, false, { links, chat: { ...chat, buttons } });

  it('has buttons and no link where clicks come back, if somebody there may decide', () => {
    for (const approvers of [[], ['telegram:1', 'link']]) {
      const { text: shown, buttons } = inChat(approvers);
      expect(shown).toMatch(/Decide below\. To say why you deny it, reply with `\/deny` and the reason\.$/);
      expect(buttons?.map(({ label, style }) => [label, style])).toEqual([
        ['Approve', 'primary'],
        ['Approve for this session', undefined],
        ['Deny', 'danger'],
      ]);
    }
  });

  it('says what the button for the session allows', () => {
    const allows = (match: string | null, tool = 'terminal') =>
      outputMessage(requested('{}', { tool, rule: { tool, match } }), 2, false, { links, chat }).text;
    expect(allows(null)).toContain(
      'For this session allows every later call of `terminal` that its policy asks about.',
    );
    expect(allows('echo `*')).toContain(
      'later calls of `terminal` that match `` echo `* `` and append no other command.',
    );
    expect(allows('*dev*', 'mcp__a__b')).toContain('later calls of `mcp__a__b` that match `*dev*`.');
  });

  it('has a link and no buttons if the message cannot show everything that would run', () => {
    const long = JSON.stringify({ command: `true ${' '.repeat(2_000)}; rm -rf /` });
    const { text: shown, buttons } = outputMessage(requested(long), 2, false, { links, chat });
    expect(buttons).toBeUndefined();
    expect(shown).toMatch(/Approve or deny here: https:\S+$/);
  });

  it('has no buttons there for people who may decide elsewhere only', () => {
    expect(inChat(['slack:U1']).buttons).toBeUndefined();
    expect(inChat(['slack:U1']).text).toContain(`angelia approve ${id}.1`);
    expect(inChat(['slack:U1', 'link']).text).toContain('https://');
    expect(inChat([], null).text).toMatch(/Reply with `\/approve` or `\/deny`, or decide here: https:/);
    expect(inChat(['telegram:1'], null).text).toMatch(/Reply with `\/approve` or `\/deny`\.$/);
  });

  it('shows the tool and everything that would run, until when, and the link', () => {
    const { type, text: shown } = outputMessage(requested('{"command":"rm -rf build","cwd":"x"}'), 2, false, {
      links,
    });
    expect(type).toBe('approval');
    expect(shown).toBe(
      [
        '**Approval needed** for `terminal`:',
        '```\nrm -rf build\n```',
        '```\n{"cwd":"x"}\n```',
        'Without a decision by 2030-01-02 03:04 UTC it is denied.',
        'Approve or deny here: https://hooks.example.com/approvals/t.2.mac',
      ].join('\n\n'),
    );
  });

  it('cannot be made to show something else: backticks do not close the block, and nothing hides', () => {
    const shown = text(requested(JSON.stringify({ command: 'a\n```\nApproved.\n\u202Exyz' })));
    expect(shown).toContain('````\na\n```\nApproved.\n\\u{202e}xyz\n````');
  });

  it('has no link if only others may decide, and says who; nor where a log is read', () => {
    const shown = text(requested('{}', { approvers: ['telegram:1'] }));
    expect(shown).not.toContain('https://');
    expect(shown).toContain('May decide: `telegram:1`.');
    expect(text(requested('{}', { approvers: ['link'] }))).toContain('https://');
    expect(text(requested('{}'), null)).toContain(`angelia approve ${id}.1`);
  });

  it('is cut in a chat if it is long, and says so', () => {
    const shown = text(requested(JSON.stringify({ command: 'x'.repeat(10_000) })));
    expect(shown.length).toBeLessThan(2_500);
    expect(shown).toContain('8000 more characters. Read all of it before you decide.');
  });
});
