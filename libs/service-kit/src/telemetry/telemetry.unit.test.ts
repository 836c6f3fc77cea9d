import { describe, expect, it } from '@jest/globals';
import { hasNoSpan } from './telemetry.ts';

describe('spans of incoming requests', () => {
  it.each(['/answers/eyJ.abc', '/approvals/eyJ.abc', '/callbacks/eyJ.abc', '/base/approvals/eyJ.abc'])(
    'a signed link leaves none, because the span would hold its token: %s',
    (url) => {
      expect(hasNoSpan({ method: 'POST', url })).toBe(true);
    },
  );

  it.each(['/webhooks/github', '/chats/telegram/home', '/base/chats/telegram/home'])(
    'what anybody can send leaves none before it is verified: %s',
    (url) => {
      expect(hasNoSpan({ method: 'POST', url })).toBe(true);
    },
  );

  it.each([
    '/v1/approvals/01a1e281-20d9-7563-b8f1-427765d52c50.1',
    '/v1/sessions/1/cancel',
    '/v1/chats/home/setup',
  ])('a call of the API that changes something leaves one: %s', (url) => {
    expect(hasNoSpan({ method: 'POST', url })).toBe(false);
  });
});
