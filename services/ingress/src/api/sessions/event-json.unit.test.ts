import type { RecordedEvent } from '@angelia/contracts';
import { expect, it } from '@jest/globals';
import { eventJson } from './event-json.ts';

it('an event is shown without what the model thought', () => {
  const event = {
    position: 7,
    version: 3,
    type: 'model.responded',
    recordedAt: 0,
    data: { text: 'said', reasoning: { of: 'anthropic/m', data: '["thought"]' } },
    meta: {},
  } as unknown as RecordedEvent;
  expect(eventJson(event)).toMatchObject({ version: 3, data: { text: 'said' } });
  expect(JSON.stringify(eventJson(event))).not.toContain('thought');
});
