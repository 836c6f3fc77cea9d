import { describe, expect, it } from '@jest/globals';
import { parseServerUrl } from './server-url.ts';

describe('the NATS URL', () => {
  it('gives host and port, with the default port if none is given', () => {
    expect(parseServerUrl('nats://bus.example:4333').servers).toEqual(['bus.example:4333']);
    expect(parseServerUrl('bus.example').servers).toEqual(['bus.example:4222']);
  });

  it('carries a token, or a user with a password, percent-decoded', () => {
    expect(parseServerUrl('nats://t%40ken@h:1').credentials).toEqual({ token: 't@ken' });
    expect(parseServerUrl('nats://ann:p%3Aw@h:1').credentials).toEqual({ user: 'ann', pass: 'p:w' });
    expect(parseServerUrl('nats://h:1').credentials).toBeNull();
  });

  it('names several servers of one cluster', () => {
    const address = parseServerUrl('nats://tok@a:1, nats://b:2');
    expect(address).toEqual({ servers: ['a:1', 'b:2'], tls: false, credentials: { token: 'tok' } });
  });

  it('asks for TLS by its scheme', () => {
    expect(parseServerUrl('tls://h').tls).toBe(true);
    expect(() => parseServerUrl('tls://a,nats://b')).toThrow('mixed');
  });

  it.each([
    '',
    'http://secret@h',
    'nats://secret@:1',
    'nats://secret@a,nats://other@b',
    'nats://secret@h:port',
  ])('that cannot be used is refused without quoting it: %j', (url) => {
    let message = '';
    try {
      parseServerUrl(url);
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toContain('nats://[user:password@|token@]host:port');
    expect(message).not.toContain('secret');
  });
});
