import { isIPv6 } from 'node:net';

/**
 * What limits per address count as one client: an IPv4 address, or an IPv6 network of 64 bits. A provider gives such a
 * network to each customer, who can then use any of its 2^64 addresses.
 */
export function clientNetworkOf(given: string | undefined): string {
  if (given === undefined) return 'unknown';
  // Some proxies write the port into `X-Forwarded-For`. It differs for each connection.
  const address = given.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1').replace(/^\[(.+)\](?::\d+)?$/, '$1');
  if (!isIPv6(address)) return address;
  const bare = address.split('%', 1)[0] as string;
  // An IPv4 address in the form that a dual-stack socket shows.
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
