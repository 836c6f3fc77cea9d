import { describe, expect, it } from '@jest/globals';
import { AddressRefused, publicOnlyLookup, refuseLiteralPrivateHost } from './public-addresses.ts';

describe('a host that is an IP address, however it is written', () => {
  it.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0177.0.0.1/',
    'http://0x7f.1/',
    'http://127.1/',
    'http://[::1]:80/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:c0a8:1]/',
    'http://0/',
    'http://169.254.169.254/latest/meta-data',
    'http://①②⑦.0.0.1/',
  ])('%s is refused', (url) => {
    expect(() => refuseLiteralPrivateHost(new URL(url))).toThrow(AddressRefused);
  });

  it('lets public addresses and names through to the lookup', () => {
    expect(() => refuseLiteralPrivateHost(new URL('http://1.1.1.1/'))).not.toThrow();
    expect(() => refuseLiteralPrivateHost(new URL('http://localhost/'))).not.toThrow();
  });
});

describe('the lookup of a connection', () => {
  const lookupOf = (...addresses: string[]) =>
    publicOnlyLookup((_name, _options, callback) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      ),
    );
  const resolve = (lookup: ReturnType<typeof publicOnlyLookup>, all: boolean) =>
    new Promise<{ error: Error | null; address: unknown }>((done) =>
      lookup('some.name', { all }, (error, address) => done({ error, address })),
    );

  it('refuses a name that leads to a private address', async () => {
    expect((await resolve(lookupOf('10.0.0.5'), true)).error).toBeInstanceOf(AddressRefused);
  });

  it('refuses a name with one private address among public ones', async () => {
    expect((await resolve(lookupOf('1.1.1.1', '::ffff:10.0.0.5'), true)).error).toBeInstanceOf(
      AddressRefused,
    );
  });

  it('gives the socket the very addresses that were checked, in both forms that Node asks for', async () => {
    expect(await resolve(lookupOf('1.1.1.1'), false)).toEqual({ error: null, address: '1.1.1.1' });
    expect(await resolve(lookupOf('1.1.1.1'), true)).toEqual({
      error: null,
      address: [{ address: '1.1.1.1', family: 4 }],
    });
  });

  it('refuses localhost, resolved by the machine itself', async () => {
    const outcome = await new Promise<Error | null>((done) =>
      publicOnlyLookup()('localhost', { all: true }, (error) => done(error)),
    );
    expect(outcome).toBeInstanceOf(AddressRefused);
  });
});
