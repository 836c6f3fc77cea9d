import type { FastifyRequest } from 'fastify';
import { isLocalHost } from '../http/local-host.ts';
import { CodedRefusal, type Refusal } from '../http/refusal.ts';

/**
 * Refuses what a page of another origin sends with our cookie, or to sign a browser in. `SameSite=Strict` already keeps the
 * cookie from other sites, but pages on other ports of this host are the same site. Programs send neither header.
 *
 * @param publicUrl of the config: behind a proxy, `Host` may be another name than the one in the browser
 */
export function crossSiteRefusal(
  { headers, host }: FastifyRequest,
  publicUrl: string | undefined,
): Refusal | null {
  const { origin, 'sec-fetch-site': site } = headers;
  // The browser itself compared the origins. `none`: a person typed the address.
  if (site !== undefined) return site === 'same-origin' || site === 'none' ? null : crossSite();
  if (origin === undefined) return null;
  const from = URL.canParse(origin) ? new URL(origin) : null;
  if (from !== null && (from.host === host || (publicUrl && from.origin === new URL(publicUrl).origin)))
    return null;
  return crossSite();
}

/** Over plain http a browser drops the cookie without a word, except from this machine. */
export function insecurePageRefusal({ headers: { origin } }: FastifyRequest): Refusal | null {
  if (origin === undefined || !URL.canParse(origin)) return null;
  const { protocol, host } = new URL(origin);
  if (protocol !== 'http:' || isLocalHost(host)) return null;
  return new CodedRefusal(
    403,
    'needs_https',
    'the console needs https, or a browser on the same machine: open it by https, or forward the port with `ssh -L` and open it at 127.0.0.1',
  );
}

function crossSite(): Refusal {
  return new CodedRefusal(
    403,
    'cross_site',
    'a page of another origin sent the request: open the console itself (/console)',
  );
}
