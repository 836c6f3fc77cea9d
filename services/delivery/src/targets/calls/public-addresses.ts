import { lookup } from 'node:dns';
import { isIPv4, type LookupFunction } from 'node:net';
import { isPublicAddress } from '@angelia/config';
import { AngeliaError } from '@angelia/contracts';

/**
 * An untrusted sender may make us talk to public unicast addresses only. The check runs after DNS, on the very addresses that
 * the socket then gets, so a name cannot resolve differently the second time.
 */

/** Thrown while connecting to an address that is not public. The target turns it into a permanent error. */
export class AddressRefused extends AngeliaError {
  readonly code = 'address_refused';
  readonly retryable = false;
  override readonly name = 'AddressRefused';
}

/** A host that is an IP address never reaches a lookup, so it is checked here. URL has normalised 0x7f.1 and 2130706433. */
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

/** A `lookup` for `net.connect`. One private address among the answers refuses the whole name. */
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
