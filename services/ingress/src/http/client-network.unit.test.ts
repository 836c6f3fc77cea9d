import { describe, expect, it } from '@jest/globals';
import { clientNetworkOf } from './client-network.ts';

describe('whom a limit per address counts as one', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:1::', '2001:db8:1:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
    // As some proxies forward it.
    ['192.0.2.7:50123', '192.0.2.7'],
    ['[2001:db8:1:2::1]:50123', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::1]', '2001:db8:1:2::/64'],
  ])('%s is of %s', (address, peer) => {
    expect(clientNetworkOf(address)).toBe(peer);
  });

  it('a socket that is gone has no address, and is still counted', () => {
    expect(clientNetworkOf(undefined)).toBe('unknown');
  });
});
