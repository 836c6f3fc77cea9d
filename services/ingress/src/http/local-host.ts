import { isLoopback } from '@angelia/config';

/** Is it a name of this machine? With or without a port, as the header `Host` has it. */
export function isLocalHost(host: string | undefined): boolean {
  const name = host?.replace(/:\d+$/, '').toLowerCase() ?? '';
  // RFC 6761: browsers resolve these names themselves, so no DNS server can redirect them.
  return isLoopback(name) || name.endsWith('.localhost');
}
