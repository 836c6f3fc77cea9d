import { expect, it } from '@jest/globals';
import { parseHeaders, parsePayload } from './webhook-headers.ts';

it('headers are read as they are pasted', () => {
  expect(parseHeaders('X-GitHub-Event: push\n\n  x-time : 12:30 \nnothing\n: empty')).toEqual({
    headers: { 'x-github-event': 'push', 'x-time': '12:30' },
    wrong: ['nothing', ': empty'],
  });
});

it('any JSON is a payload, and other text says why it is none', () => {
  expect(parsePayload('[1]')).toEqual({ payload: [1] });
  expect(parsePayload(' ')).toEqual({ error: 'Paste the JSON body of a webhook.' });
  expect(parsePayload('{')).toMatchObject({ error: expect.stringMatching(/^This is not JSON: /) });
});
