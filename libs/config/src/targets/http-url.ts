import { isIP } from 'node:net';
import { isPublicAddress } from './public-address.ts';

/** As templates have them (services/ingress/src/template.ts). */
export const PLACEHOLDER = /\{[a-zA-Z0-9_.]+\}/;
/** What a URL may begin with before its `:`; ended by a placeholder, it may go on (`http{s}://`). */
const SCHEME = /^([a-z][a-z0-9+.-]*)(:|$)/i;

/**
 * Why an `url` of the http target could never be sent to, as far as that can be told before a webhook fills in its
 * placeholders; null when it may work. Never repeats the url: it may hold a password.
 */
export function httpUrlProblem(url: string): string | null {
  const { fixed, example, dynamic } = take(url);
  if (!dynamic && !URL.canParse(url)) return `is no URL: ${WANTED}`;
  if (fixed !== '') {
    const scheme = SCHEME.exec(fixed);
    if (scheme === null) return `is no URL: ${WANTED}`;
    if (scheme[2] === ':' && !/^https?$/i.test(scheme[1] ?? '')) return `is no http or https URL: ${WANTED}`;
  }
  const hasUser = example !== null && (example.username !== '' || example.password !== '');
  return hasUser || authorityOf(fixed).includes('@') ? USER_ADVICE : null;
}

const WANTED = 'it begins with https:// or http://';
const USER_ADVICE =
  'user and password in a URL are not sent, and would be written into the event log: put credentials under `targets.http.headers`';

/**
 * The host that the url has whatever its placeholders are, where that is an address of no public network, or this
 * machine by name; null otherwise. Other names are judged when something is sent, by what DNS says then.
 */
export function privateHostOf(url: string): string | null {
  const { example } = take(url);
  if (!hasFixedHost(url) || example === null) return null;
  const host = example.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  if (isIP(host) === 0) return /(^|\.)localhost$/.test(host) ? host : null;
  return isPublicAddress(host) ? null : host;
}

/** Whether scheme, host and port are the same whatever its placeholders stand for. */
export function hasFixedHost(url: string): boolean {
  const { fixed, dynamic } = take(url);
  return !dynamic || /^[^:]+:[/\\]*[^/\\?#]+[/\\?#]/.test(fixed);
}

function take(url: string): { fixed: string; example: URL | null; dynamic: boolean } {
  const at = url.search(PLACEHOLDER);
  // A digit is good in any part of a URL, the port too.
  const text = url.replace(new RegExp(PLACEHOLDER, 'g'), '1');
  const fixed = at === -1 ? url : url.slice(0, at);
  return {
    // As the URL parser begins: blanks around do not count, nor do tabs and line breaks anywhere.
    fixed: fixed.replace(/[\t\n\r]/g, '').trimStart(),
    example: URL.canParse(text) ? new URL(text) : null,
    dynamic: at !== -1,
  };
}

function authorityOf(fixed: string): string {
  return /^[^:]+:[/\\]*([^/\\?#]*)/.exec(fixed)?.[1] ?? '';
}
