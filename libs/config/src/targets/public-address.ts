import { isIPv4 } from 'node:net';

/**
 * The addresses that an untrusted sender may make us connect to: public unicast, nothing else. This is the only list. The
 * config check asks it about IP addresses in URLs (http-url.ts), and delivery about every address that a socket is given
 * (services/delivery/src/targets/calls/public-addresses.ts).
 */
type Range = readonly [network: string, bits: number];

/** The IANA special-purpose registry, and Azure's metadata address, which looks public and is not. */
const REFUSED_V4: readonly Range[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

/** Whether `ip`, from DNS or a URL, is an address of the public internet. An unreadable one is not. */
export function isPublicAddress(ip: string): boolean {
  if (isIPv4(ip)) return isPublicV4(v4Number(ip));
  const groups = v6Groups(ip);
  if (!groups) return false;
  const [first = 0, second = 0] = groups;
  const low32 = ((groups[6] ?? 0) * 0x10000 + (groups[7] ?? 0)) >>> 0;
  const zerosBetween = (from: number, to: number) => groups.slice(from, to).every((group) => group === 0);
  // IPv4 inside IPv6: the address that the packet reaches in the end counts.
  if (zerosBetween(0, 5) && groups[5] === 0xffff) return isPublicV4(low32);
  if (first === 0x64 && second === 0xff9b && zerosBetween(2, 6)) return isPublicV4(low32);
  // Everything outside global unicast: loopback, unique local, link-local, multicast, IPv4-compatible.
  if ((first & 0xe000) !== 0x2000) return false;
  // Protocol assignments with Teredo, documentation, 6to4 (its IPv4 could be anything), documentation again.
  if (first === 0x2001 && second < 0x0200) return false;
  if (first === 0x2001 && second === 0x0db8) return false;
  if (first === 0x2002) return false;
  return !(first === 0x3fff && second < 0x1000);
}

function isPublicV4(address: number): boolean {
  return !REFUSED_V4.some(([network, bits]) => {
    const mask = (0xffffffff << (32 - bits)) >>> 0;
    return (address & mask) >>> 0 === v4Number(network);
  });
}

function v4Number(ip: string): number {
  return ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

/** Uses the URL parser, which knows every way to write an IPv6 address and refuses zones. */
function v6Groups(ip: string): number[] | null {
  if (!URL.canParse(`http://[${ip}]`)) return null;
  const canonical = new URL(`http://[${ip}]`).hostname.slice(1, -1);
  const [head = '', tail] = canonical.split('::');
  const parse = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const before = parse(head);
  if (tail === undefined) return before;
  const after = parse(tail);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}
