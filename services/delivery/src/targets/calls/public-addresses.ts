import { lookup } from 'node:dns';
import { isIPv4, type LookupFunction } from 'node:net';
import { isPublicAddress } from '@angelia/config';

/**
 * Which addresses an untrusted sender may make us talk to: public unicast, nothing else. Checked after DNS, on the very
 * addresses that the socket is then given, so that a name cannot answer differently the second time.
 */

/** Thrown inside the connect; the target turns it into a permanent error. No retry helps. */
export class AddressRefused extends Error {
  readonly code = 'address_refused';
}

/** A host that is an address already never reaches a lookup: it is checked by itself. URL has normalised 0x7f.1 and 2130706433. */
export function refuseLiteralPrivateHost(url: URL): void {
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  if ((isIPv4(host) || url.hostname.startsWith('[')) && !isPublicAddress(host)) {
    throw new AddressRefused(`${host} is not a public address`);
  }
}

type LookupAll = (
  hostname: string,
  options: { readonly all: true; readonly family?: number | 'IPv4' | 'IPv6'; readonly hints?: number },
  callback: (error: NodeJS.ErrnoException | null, addresses: { address: string; family: number }[]) => void,
) => void;

/** A `lookup` for `net.connect`: one private address among the answers refuses the name as a whole. */
export function publicOnlyLookup(resolve: LookupAll = lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { family: options.family, hints: options.hints, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0);
      const refused = addresses.find(({ address }) => !isPublicAddress(address));
      if (refused) {
        return callback(
          new AddressRefused(`${hostname} leads to ${refused.address}, not a public address`),
          '',
          0,
        );
      }
      const [first] = addresses;
      if (!first) return callback(new AddressRefused(`${hostname} leads to no address`), '', 0);
      if (options.all) return callback(null, addresses);
      callback(null, first.address, first.family);
    });
  };
}
