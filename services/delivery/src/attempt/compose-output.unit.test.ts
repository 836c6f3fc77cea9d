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
    const context = { answerLinks: links, linksAreLocal: true } as unknown as DeliveryContext;
    expect(composeOutput({ loaded: asked('Which?', []), plan, configured }, context)).toMatchObject({
      kind: 'composed',
      chunks: [{ text: expect.stringContaining(told) }],
    });
  });
});

describe('a question in the log', () => {
  const composed = (linksAreLocal: boolean, name = 'log') => {
    const target = { name, compose: ({ text }: OutboundMessage) => [{ text }] };
    const configured = { target, settings: {} } as unknown as ComposeInput['configured'];
    const plan = { output: 2, possibleDuplicate: false, taken: 0 };
    const context = { answerLinks: links, linksAreLocal } as unknown as DeliveryContext;
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
