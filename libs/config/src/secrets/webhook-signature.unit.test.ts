import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { signerOf } from './webhook-signature.ts';

const id = '018f2f6e-0000-7000-8000-000000000001.4';
const body = '{"text":"höflich"}';
const now = new Date();

function headersBy(secret: string): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': signerOf(secret)(id, now, body),
  };
}

describe('signatures are accepted by the reference library', () => {
  const base64 = Buffer.from('twenty-four bytes of key').toString('base64');

  it('for a secret as the specification writes it', () => {
    expect(new Webhook(`whsec_${base64}`).verify(body, headersBy(`whsec_${base64}`))).toEqual({
      text: 'höflich',
    });
    expect(headersBy(`whsec_${base64}`)['webhook-signature']?.split(' ')).toHaveLength(1);
  });

  it('for the same secret without its prefix', () => {
    expect(() => new Webhook(base64).verify(body, headersBy(base64))).not.toThrow();
  });

  it.each(['a plain secret!', 'höflich und geheim', 'abcd'])(
    'for the plain secret "%s", whose bytes are the key',
    (secret) => {
      const receiver = new Webhook(Buffer.from(secret, 'utf8'), { format: 'raw' });
      expect(() => receiver.verify(body, headersBy(secret))).not.toThrow();
    },
  );

  it('but not with another secret or another body', () => {
    const other = new Webhook(`whsec_${Buffer.from('another key, same length').toString('base64')}`);
    expect(() => other.verify(body, headersBy(`whsec_${base64}`))).toThrow();
    expect(() => new Webhook(base64).verify('{}', headersBy(base64))).toThrow();
  });
});

it('the error for an unusable secret does not quote it', () => {
  expect(() => signerOf('whsec_not base64 at all')).toThrow(
    'the part after whsec_ must be base64 and not empty',
  );
  expect(() => signerOf('whsec_')).toThrow();
  expect(() => signerOf('')).toThrow();
});
