import { describe, expect, it } from '@jest/globals';
import { hasCapability, neededVersion } from './capabilities.ts';

describe('the server version', () => {
  it.each(['2.9.0', '2.9.10', '2.9.0-beta.1', 'v2.10.4', '2.12.1', '3.0.0'])(
    '%s is new enough',
    (version) => {
      expect(hasCapability(version, 'angelia')).toBe(true);
    },
  );

  it.each(['2.8.4', '1.99.99', '', 'unknown'])('%j is too old or unknown', (version) => {
    expect(hasCapability(version, 'angelia')).toBe(false);
  });

  it('that is needed is readable for a person', () => {
    expect(neededVersion('angelia')).toBe('2.9');
  });
});
