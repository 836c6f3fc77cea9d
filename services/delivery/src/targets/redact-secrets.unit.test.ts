import { describe, expect, it } from '@jest/globals';
import { redactCredentials } from './redact-secrets.ts';
import type { SendRequest, Target } from './target.ts';

const settings = {
  bot_token: 'token-of-bot',
  headers: { 'x-any': 'header-value' },
  api_base: 'https://example.com',
};

/** A platform that repeats what it was sent. */
const parrot: Target = {
  name: 'parrot',
  idempotent: false,
  destination: () => ({ name: 'parrot', chat: null }),
  compose: () => [],
  send: async () => ({
    kind: 'permanent',
    reason: 'bad token token-of-bot for https://example.com (header-value)',
  }),
  edit: async () => ({ kind: 'taken', receipt: 'id?t=token-of-bot' }),
  lookUp: async () => ({ kind: 'found', receipt: 'id?t=token-of-bot' }),
  close: async () => {},
};
const request = {} as SendRequest;

describe('what a target says', () => {
  it('holds no credential, even if the platform repeats it', async () => {
    const target = redactCredentials(parrot, settings);
    expect(await target.send(request)).toEqual({
      kind: 'permanent',
      reason: 'bad token [redacted] for https://example.com ([redacted])',
    });
    expect(await target.edit?.(request, 'r')).toEqual({ kind: 'taken', receipt: 'id?t=[redacted]' });
    expect(await target.lookUp?.(request)).toEqual({ kind: 'found', receipt: 'id?t=[redacted]' });
  });

  it('adds no method that the target does not have', () => {
    const { edit: _edit, lookUp: _lookUp, ...plain } = parrot;
    const target = redactCredentials(plain, settings);
    expect('edit' in target || 'lookUp' in target).toBe(false);
  });
});
