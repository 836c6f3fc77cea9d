import { isIP } from 'node:net';
import { PLACEHOLDER } from '../placeholder.ts';
import { isPublicAddress } from './public-address.ts';

/** The scheme of a URL. A placeholder may cut it short (`http{s}://`). */
const SCHEME = /^([a-z][a-z0-9+.-]*)(:|$)/i;

/**
 * Why a `url` of the http target can never work, as far as that is known before a webhook fills in its placeholders; null
 * if it may work. Never quotes the url, which may hold a password.
 */
export function httpUrlProblem(url: string): string | null {
  const { fixed, example, dynamic } = partsOf(url);
  if (!dynamic && !URL.canParse(url)) return `this is not a URL. ${ADVICE}`;
  if (fixed !== '') {
    const scheme = SCHEME.exec(fixed);
    if (scheme === null) return `this is not a URL. ${ADVICE}`;
    if (scheme[2] === ':' && !/^https?$/i.test(scheme[1] ?? ''))
      return `this is not an http or https URL. ${ADVICE}`;
  }
  const hasUser = example !== null && (example.username !== '' || example.password !== '');
  return hasUser || authorityOf(fixed).includes('@') ? USER_ADVICE : null;
}

const ADVICE = 'Start it with https:// or http://.';
const USER_ADVICE =
  'this URL has a user or a password, which would not be sent and would be written into the event log. Put credentials under `targets.http.headers`.';

/**
 * The host of the url if it is a private IP address or a name of this machine, whatever the placeholders stand for; null
 * otherwise. Other names are checked when something is sent, by what DNS says then.
 */
export function privateHostOf(url: string): string | null {
  const { example } = partsOf(url);
  if (!hasFixedHost(url) || example === null) return null;
  const host = example.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  if (isIP(host) === 0) return /(^|\.)localhost$/.test(host) ? host : null;
  return isPublicAddress(host) ? null : host;
}

/** Whether scheme, host and port are the same whatever the placeholders stand for. */
export function hasFixedHost(url: string): boolean {
  const { fixed, dynamic } = partsOf(url);
  return !dynamic || /^[^:]+:[/\\]*[^/\\?#]+[/\\?#]/.test(fixed);
}

function partsOf(url: string): { fixed: string; example: URL | null; dynamic: boolean } {
  const at = url.search(PLACEHOLDER);
  // A digit fits any part of a URL, the port included.
  const text = url.replace(new RegExp(PLACEHOLDER, 'g'), '1');
  const fixed = at === -1 ? url : url.slice(0, at);
  return {
    // As the URL parser does: it ignores blanks at the start, and tabs and line breaks anywhere.
    fixed: fixed.replace(/[\t\n\r]/g, '').trimStart(),
    example: URL.canParse(text) ? new URL(text) : null,
    dynamic: at !== -1,
  };
}

function authorityOf(fixed: string): string {
  return /^[^:]+:[/\\]*([^/\\?#]*)/.exec(fixed)?.[1] ?? '';
}
