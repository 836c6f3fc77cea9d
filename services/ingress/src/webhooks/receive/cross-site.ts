import type { IncomingHttpHeaders } from 'node:http';
import { isLocalHost } from '../../http/local-host.ts';
import { Refusal } from '../../http/refusal.ts';

/**
 * A route without a secret trusts everything that reaches the loopback address, and that includes every page in a browser
 * on this machine. The browser's headers reveal a page of another origin. A page that reaches us under its own host name
 * (DNS rebinding) counts as the same origin, but that host name reveals it. Programs send none of this.
 * /v1 and /answers need no such check: a page has neither the token nor the link, and calls by the cookie of the console have
 * a check of their own (console/same-origin.ts).
 *
 * @throws Refusal 403
 */
export function refuseCrossSite({ host, origin, 'sec-fetch-site': site }: IncomingHttpHeaders): void {
  if (!isLocalHost(host)) {
    throw refusal(
      host
        ? `the request names the host \`${shown(host)}\`, which is not this machine`
        : 'the request has no header `Host`',
    );
  }
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw refusal('a page of another site sent the request');
  }
  if (origin !== undefined && origin !== `http://${host}`) {
    throw refusal(`a page of \`${shown(origin)}\` sent the request`);
  }
}

function refusal(why: string): Refusal {
  return new Refusal(
    403,
    'cross_site',
    `this route has no secret, so it takes webhooks only from programs on this machine; ${why}: set a secret, or call it at 127.0.0.1`,
  );
}

/** The sender chose this text. */
function shown(text: string | undefined): string {
  return (text ?? '').replace(/[^ -_a-~]/g, '?').slice(0, 100);
}
