import { describe, expect, it } from '@jest/globals';
import { clientNetworkOf } from './client-network.ts';

describe('the network that a limit per address counts as one client', () => {
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
    // The form that some proxies forward.
    ['192.0.2.7:50123', '192.0.2.7'],
    ['[2001:db8:1:2::1]:50123', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::1]', '2001:db8:1:2::/64'],
  ])('%s belongs to %s', (address, network) => {
    expect(clientNetworkOf(address)).toBe(network);
  });

  it('a closed socket has no address, but still counts', () => {
    expect(clientNetworkOf(undefined)).toBe('unknown');
  });
});
