import { isIPv6 } from 'node:net';

/**
 * Whom limits per address count as one: an IPv4 address, or an IPv6 network of 64 bits, which is what one customer is
 * given: each has 2^64 addresses to come from.
 */
export function peerOf(given: string | undefined): string {
  if (given === undefined) return 'unknown';
  // Some proxies write the port into `X-Forwarded-For`, which is another one for each connection.
  const address = given.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1').replace(/^\[(.+)\](?::\d+)?$/, '$1');
  if (!isIPv6(address)) return address;
  const bare = address.split('%', 1)[0] as string;
  // An IPv4 address as a socket that listens for both shows it.
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = bare.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const last = tail === '' ? 0 : tail.split(':').length + (tail.includes('.') ? 1 : 0);
    while (groups.length + last < 8) groups.push('0');
    if (tail !== '') groups.push(...tail.split(':'));
  }
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
