import { describe, expect, it } from '@jest/globals';
import { consoleSecrets, csrfTokenOf, digestOf, isCsrfTokenOf } from './console-secrets.ts';

const adminToken = 'admin-token-0123456789';
const secrets = consoleSecrets({ adminToken, masterKey: undefined });

describe('secrets of the console', () => {
  it('are new each time, and every replica with the same admin token recognises them', () => {
    const session = secrets.make('session');
    expect(secrets.make('session')).not.toBe(session);
    expect(consoleSecrets({ adminToken, masterKey: undefined }).isOurs('session', session)).toBe(true);
  });

  it('are good for one purpose, and with one admin token and master key', () => {
    const session = secrets.make('session');
    expect(secrets.isOurs('link', session)).toBe(false);
    expect(secrets.isOurs('session', secrets.make('link'))).toBe(false);
    for (const other of [
      { adminToken: `${adminToken}0`, masterKey: undefined },
      { adminToken, masterKey: Buffer.alloc(32, 1).toString('base64') },
      { adminToken: undefined, masterKey: undefined },
    ]) {
      expect(consoleSecrets(other).isOurs('session', session)).toBe(false);
    }
  });

  it.each(['', '.', 'x', 'x.y', `${'x'.repeat(43)}.${'y'.repeat(43)}`, 'é.ü', 'x'.repeat(100_000)])(
    'that are invented (%j) are none of ours',
    (text) => {
      expect(secrets.isOurs('session', text)).toBe(false);
    },
  );

  it('have a CSRF token of their own, from which they cannot be told', () => {
    const [one, two] = [secrets.make('session'), secrets.make('session')];
    expect(isCsrfTokenOf(one, csrfTokenOf(one))).toBe(true);
    for (const wrong of [
      '',
      csrfTokenOf(two),
      `${csrfTokenOf(one)}x`,
      csrfTokenOf(one).slice(1),
      one,
      digestOf(one),
    ]) {
      expect(isCsrfTokenOf(one, wrong)).toBe(false);
    }
  });
});
