import { addressVariables } from '@angelia/config';
import type { DeliveryTarget } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { httpTarget } from '../targets/http/http.ts';
import type { SendRequest, Target } from '../targets/target.ts';
import { resolveAddress } from './resolve-address.ts';

const captured = (to: DeliveryTarget['to'], references: DeliveryTarget['references']): DeliveryTarget => ({
  target: 'http',
  to,
  untrusted_address: false,
  ...(references === undefined ? {} : { references }),
});
const configured = (target: Target = httpTarget()) => ({ target, settings: {} });
const env = (values: Record<string, string>) => addressVariables({}, values);

describe('the address of a delivery', () => {
  it('stays as captured if it names no variable, whatever it looks like', () => {
    const from = captured({ url: `https://x.example/\${HOOK}` }, undefined);
    const { address } = resolveAddress(from, configured(), env({ HOOK: 'secret' }));
    expect(address).toEqual({ to: from.to, untrusted: false, untrustedHost: false });
  });

  it('gets the current values of its variables, at the positions that the event names and nowhere else', () => {
    const from = captured(
      { url: `https://x.example/\${HOOK}/\${HOOK}?a=\${B}`, headers: { 'x-a': `\${B}\${HOOK}` } },
      [
        { path: ['url'], at: 26, name: 'HOOK' },
        { path: ['url'], at: 36, name: 'B' },
        { path: ['headers', 'x-a'], at: 0, name: 'B' },
      ],
    );
    const { address } = resolveAddress(from, configured(), env({ HOOK: `\${B}`, B: 'b' }));
    expect(address.to).toEqual({
      url: `https://x.example/\${HOOK}/\${B}?a=b`,
      headers: { 'x-a': `b\${HOOK}` },
    });
    expect(from.to.url).toBe(`https://x.example/\${HOOK}/\${HOOK}?a=\${B}`);
  });

  it('is resolved anew for each attempt: a changed value is used from then on', () => {
    const from = captured({ url: `https://x.example/\${HOOK}` }, [{ path: ['url'], at: 18, name: 'HOOK' }]);
    const urlWith = (HOOK: string) => resolveAddress(from, configured(), env({ HOOK })).address.to.url;
    expect([urlWith('old'), urlWith('new')]).toEqual(['https://x.example/old', 'https://x.example/new']);
  });

  it.each<
    [
      string,
      DeliveryTarget['to'],
      { path: string[]; at: number; name: string },
      Record<string, string>,
      string,
    ]
  >([
    [
      'a variable that is gone',
      { url: `\${HOOK}/a` },
      { path: ['url'], at: 0, name: 'HOOK' },
      {},
      'HOOK is not set',
    ],
    [
      'one of our own',
      { url: `\${ANGELIA_MASTER_KEY}` },
      { path: ['url'], at: 0, name: 'ANGELIA_MASTER_KEY' },
      { ANGELIA_MASTER_KEY: 'https://x.example' },
      'is for something else',
    ],
    [
      'a value that is not an address',
      { url: `\${HOOK}` },
      { path: ['url'], at: 0, name: 'HOOK' },
      { HOOK: 'nonsense' },
      'deliver_extra.url: this is not a URL',
    ],
    [
      'a position that does not exist',
      { url: 'https://x.example/' },
      { path: ['headers', 'a'], at: 0, name: 'HOOK' },
      { HOOK: 'h' },
      'is not where',
    ],
    [
      'a position of something else',
      { url: 'https://x.example/' },
      { path: ['url'], at: 3, name: 'HOOK' },
      { HOOK: 'h' },
      'is not where',
    ],
    [
      'a position that every object has',
      { url: 'https://x.example/' },
      { path: ['__proto__', 'x'], at: 0, name: 'HOOK' },
      { HOOK: 'h' },
      'is not where',
    ],
  ])(
    'with %s makes the attempt fail with the reason, retryable',
    async (_what, to, reference, values, reason) => {
      const { configured: made, address } = resolveAddress(
        captured(to, [reference]),
        configured(),
        env(values),
      );
      expect(await made.target.send({} as SendRequest)).toEqual({
        kind: 'retryable',
        reason: expect.stringContaining(reason),
      });
      expect(
        JSON.stringify([made.target.destination(address, {}), await made.target.send({} as SendRequest)]),
      ).not.toContain('nonsense');
    },
  );

  it('appears in nothing that a target says', async () => {
    const parrot: Target = {
      ...httpTarget(),
      send: async ({ address }) => ({ kind: 'permanent', reason: `404 from ${address.to.url}` }),
    };
    const from = captured({ url: `\${HOOK}` }, [{ path: ['url'], at: 0, name: 'HOOK' }]);
    const { configured: made, address } = resolveAddress(
      from,
      configured(parrot),
      env({ HOOK: 'https://x.example/services/T0/B0/xyz' }),
    );
    expect(await made.target.send({ address } as SendRequest)).toEqual({
      kind: 'permanent',
      reason: '404 from [redacted]',
    });
  });
});
