import { describe, expect, it } from '@jest/globals';
import { isPublicAddress } from './public-address.ts';

describe('public addresses', () => {
  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.31.255.255',
    '192.168.0.1',
    '169.254.169.254',
    '168.63.129.16',
    '100.100.100.200',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:a9fe:a9fe',
    '0:0:0:0:0:ffff:10.0.0.1',
    '::127.0.0.1',
    '64:ff9b::10.0.0.1',
    '64:ff9b:1::1',
    '2002:7f00:1::',
    '2001:0:1::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    'ff02::1',
    '2001:db8::1',
    'nonsense',
    '',
  ])('%s is refused', (ip) => {
    expect(isPublicAddress(ip)).toBe(false);
  });

  it.each([
    '1.1.1.1',
    '172.32.0.1',
    '169.253.1.1',
    '2606:4700:4700::1111',
    '::ffff:1.1.1.1',
    '64:ff9b::101:101',
  ])('%s is allowed', (ip) => {
    expect(isPublicAddress(ip)).toBe(true);
  });
});
