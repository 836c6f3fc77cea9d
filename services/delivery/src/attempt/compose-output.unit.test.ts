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
    expect(outputMessage(asked('Red or blue?', ['Red', 'Blue']), 2, false, links)).toEqual({
      type: 'clarification',
      text: 'Red or blue?\n\n1. Red\n2. Blue\n\nAnswer here: https://hooks.example.com/answers/t.2.mac',
      sessionId: id,
      version: 2,
      route: 'hook',
      deliveryId: 'd-1',
      possibleDuplicate: false,
    });
    expect(outputMessage(asked('Which?', []), 2, true, links).text).toBe(
      'Which?\n\nAnswer here: https://hooks.example.com/answers/t.2.mac',
    );
  });

  it('says how else to answer if there is no link', () => {
    expect(outputMessage(asked('Which?', []), 2, false, null).text).toBe(
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
    const context = { answerLinks: links } as unknown as DeliveryContext;
    expect(composeOutput({ loaded: asked('Which?', []), plan, configured }, context)).toMatchObject({
      kind: 'composed',
      chunks: [{ text: expect.stringContaining(told) }],
    });
  });
});
