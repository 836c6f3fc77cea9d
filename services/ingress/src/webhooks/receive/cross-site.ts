import type { IncomingHttpHeaders } from 'node:http';
import { isLoopback } from '@angelia/config';
import { Refusal } from '../../http/refusal.ts';

/**
 * A route without a secret trusts whoever reaches the loopback address, and that is also every page in a browser on this
 * machine. A page of another origin is told by what its browser adds; one that reaches us by a name of its own (DNS
 * rebinding), for which it would be the same origin, is told by that name. Programs add none of this.
 * /v1 and /answers need no such check: a page has neither the token nor the link, and no cookie stands for them.
 *
 * @throws Refusal 403
 */
export function refuseCrossSite({ host, origin, 'sec-fetch-site': site }: IncomingHttpHeaders): void {
  if (!isLocalHost(host)) {
    throw refusal(
      host
        ? `it is called by the name \`${shown(host)}\`, which is not this machine's`
        : 'this has no header `Host`',
    );
  }
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw refusal('a page of another site sent this');
  }
  if (origin !== undefined && origin !== `http://${host}`) {
    throw refusal(`a page of \`${shown(origin)}\` sent this`);
  }
}

function refusal(why: string): Refusal {
  return new Refusal(
    403,
    'cross_site',
    `this route has no secret and takes webhooks of programs on this machine only, and ${why}: set a secret, or call it at 127.0.0.1`,
  );
}

function isLocalHost(host: string | undefined): boolean {
  const name = host?.replace(/:\d+$/, '').toLowerCase() ?? '';
  // RFC 6761: browsers resolve these themselves, nobody else can.
  return isLoopback(name) || name.endsWith('.localhost');
}

/** It is a stranger's text. */
function shown(text: string | undefined): string {
  return (text ?? '').replace(/[^ -_a-~]/g, '?').slice(0, 100);
}
