import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { masterKeyOf } from './master-key.ts';

const key = masterKeyOf(randomBytes(32).toString('base64'));
const secrets = ['one', 'zwei — 2', 'x'.repeat(500)];

function flipped(base64: string, at: number): string {
  const bytes = Buffer.from(base64, 'base64');
  const index = at < 0 ? bytes.length + at : at;
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  return bytes.toString('base64');
}

describe('a sealed secret', () => {
  it('opens with its key for its route', () => {
    expect(key.open('hook', key.seal('hook', secrets))).toEqual({ ok: true, secrets });
  });

  it('is a different text every time, and does not show the secret', () => {
    const sealed = Array.from({ length: 100 }, () => key.seal('hook', ['a-secret-of-some-length']));
    expect(new Set(sealed.map(({ nonce }) => nonce)).size).toBe(100);
    expect(new Set(sealed.map(({ ciphertext }) => ciphertext)).size).toBe(100);
    for (const { ciphertext } of sealed) {
      expect(Buffer.from(ciphertext, 'base64').toString('latin1')).not.toContain('secret');
    }
  });

  it('does not open for another route, so somebody who can write to the log cannot move it', () => {
    expect(key.open('hook2', key.seal('hook', secrets))).toEqual({
      ok: false,
      problem: expect.stringContaining('another route'),
    });
  });

  it.each([
    ['ciphertext', 0],
    ['ciphertext', -1],
    ['ciphertext', -17],
    ['nonce', 3],
  ] as const)('with one bit of its %s changed (at %i) is refused', (part, at) => {
    const sealed = key.seal('hook', secrets);
    expect(key.open('hook', { ...sealed, [part]: flipped(sealed[part], at) })).toMatchObject({ ok: false });
  });

  it.each(['', 'AAAA'])('that was cut short to %j is refused', (ciphertext) => {
    expect(key.open('hook', { ...key.seal('hook', secrets), ciphertext })).toMatchObject({ ok: false });
  });

  it('says which key it needs without revealing any key', () => {
    const bytes = randomBytes(32);
    const other = masterKeyOf(bytes.toString('base64'));
    const opened = other.open('hook', key.seal('hook', secrets));
    expect(opened).toEqual({ ok: false, problem: expect.stringContaining(key.id) });
    expect(masterKeyOf(bytes.toString('base64')).id).toBe(other.id);
    expect(bytes.toString('hex')).not.toContain(other.id);
  });
});
