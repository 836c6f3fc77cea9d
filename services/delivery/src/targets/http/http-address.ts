import { headerNameProblem, headerValueProblem } from '@angelia/config';
import type { TargetAddress, TargetSettings } from '../target.ts';

export interface HttpAddress {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Must the host be public? */
  readonly publicOnly: boolean;
}

/** Throws with a reason fit for an event: it names the key, never a value that could be a secret. */
export function parseHttpAddress(address: TargetAddress, settings: TargetSettings): HttpAddress {
  const text = address.to.url;
  if (text === undefined) throw new Error('deliver_extra.url is missing');
  if (typeof text !== 'string' || !URL.canParse(text)) throw new Error('deliver_extra.url is not a URL');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new Error(`deliver_extra.url: ${url.protocol} is not http or https`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error('deliver_extra.url: user and password in a URL are not sent; use headers');
  }
  return {
    url,
    headers: {
      // They are credentials, mostly: whoever can name a host must not be able to have them sent there.
      ...(address.untrustedHost ? {} : parseHeaders(settings.headers, 'targets.http.headers')),
      ...parseHeaders(address.to.headers, 'deliver_extra.headers'),
    },
    publicOnly: address.untrusted && settings.allow_private_networks !== true,
  };
}

export function parseHeaders(value: unknown, place: string): Record<string, string> {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value))
    throw new Error(`${place} is not a mapping of names to values`);
  const headers: Record<string, string> = {};
  for (const [name, content] of Object.entries(value)) {
    if (typeof content !== 'string' && typeof content !== 'number' && typeof content !== 'boolean') {
      throw new Error(`${place}.${name} is not a string`);
    }
    const problem = headerNameProblem(name) ?? headerValueProblem(String(content));
    if (problem !== null) throw new Error(`${place}.${name}: ${problem}`);
    headers[name.toLowerCase()] = String(content);
  }
  return headers;
}
