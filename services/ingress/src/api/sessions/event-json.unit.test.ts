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

it('an event is shown with the sizes of its images', () => {
  const data = { result: '[image 1]', images: [{ mime_type: 'image/png', data: 'QUJDRA==' }] };
  const event = { position: 7, version: 3, type: 'tool.finished', recordedAt: 0, data, meta: {} };
  expect(eventJson(event as unknown as RecordedEvent).data).toEqual({
    result: '[image 1]',
    images: [{ mime_type: 'image/png', bytes: 4 }],
  });
});
