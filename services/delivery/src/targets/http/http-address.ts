import { headerNameProblem, headerValueProblem } from '@angelia/config';
import { AngeliaError } from '@angelia/contracts';
import type { TargetAddress, TargetSettings } from '../target.ts';

/**
 * The address or a header cannot be used as it is. The message goes to events: it names the key, never a value, which could be
 * a secret.
 */
class BadAddress extends AngeliaError {
  readonly code = 'bad_address';
  readonly retryable = false;
  override readonly name = 'BadAddress';
}

export interface HttpAddress {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** The host must be public. */
  readonly publicOnly: boolean;
}

/** Throws BadAddress. */
export function parseHttpAddress(address: TargetAddress, settings: TargetSettings): HttpAddress {
  const text = address.to.url;
  if (text === undefined) throw new BadAddress('deliver_extra.url is missing');
  if (typeof text !== 'string' || !URL.canParse(text)) throw new BadAddress('deliver_extra.url is not a URL');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new BadAddress(`deliver_extra.url: ${url.protocol} is not http or https`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new BadAddress('deliver_extra.url: user and password in a URL are not sent; use headers');
  }
  return {
    url,
    headers: {
      // They are mostly credentials: somebody who can name a host must not get them sent there.
      ...(address.untrustedHost ? {} : parseHeaders(settings.headers, 'targets.http.headers')),
      ...parseHeaders(address.to.headers, 'deliver_extra.headers'),
    },
    publicOnly: address.untrusted && settings.allow_private_networks !== true,
  };
}

export function parseHeaders(value: unknown, where: string): Record<string, string> {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value))
    throw new BadAddress(`${where} is not a mapping of names to values`);
  const headers: Record<string, string> = {};
  for (const [name, content] of Object.entries(value)) {
    if (typeof content !== 'string' && typeof content !== 'number' && typeof content !== 'boolean') {
      throw new BadAddress(`${where}.${name} is not a string`);
    }
    const problem = headerNameProblem(name) ?? headerValueProblem(String(content));
    if (problem !== null) throw new BadAddress(`${where}.${name}: ${problem}`);
    headers[name.toLowerCase()] = String(content);
  }
  return headers;
}
