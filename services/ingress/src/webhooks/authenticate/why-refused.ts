import type { IncomingHttpHeaders } from 'node:http';
import type { AuthScheme } from '@angelia/contracts';
import type { Access } from '../route.ts';
import type { Scheme, SignedRequest } from './scheme.ts';
import { schemeNamed, schemes } from './scheme-registry.ts';

/** Headers that reveal the provider of a request without a signature, so that the missing one can be named. */
const marks: Readonly<Record<string, AuthScheme>> = {
  'x-github-event': 'github',
  'x-gitlab-event': 'gitlab',
  'x-shopify-topic': 'shopify',
  'linear-event': 'linear',
  'x-slack-request-timestamp': 'slack',
  'webhook-id': 'standard-webhooks',
  'svix-id': 'svix',
  'x-webhook-timestamp': 'hmac',
};

/**
 * Why a request was refused with 401, for the operator only: the sender learns nothing from the answer. It contains names
 * of headers and numbers of seconds, never the value of a signature, a token or a secret.
 *
 * @param scheme the one that decided; undefined: no scheme claimed the request
 */
export function whyRefused(
  request: SignedRequest,
  { secrets, scheme: named }: Extract<Access, { kind: 'secret' }>,
  scheme: Scheme | undefined,
): string {
  if (secrets.length === 0) return 'the route has no secret, so no signature can match: set `secret`';
  if (scheme === undefined) return noSignature(request.headers);
  if (!scheme.claims(request.headers)) {
    const other = schemes.find(({ claims }) => claims(request.headers));
    return (
      `the header ${scheme.header} is missing, which \`auth: ${named?.name ?? scheme.name}\` of the route needs` +
      (other === undefined ? '' : `; the request has ${other.header} (\`auth: ${other.name}\`)`)
    );
  }
  const problem = scheme.problem?.(request, secrets) ?? null;
  if (problem !== null) return problem;
  const listed = secrets.length === 1 ? 'the only secret' : `any of the ${secrets.length} secrets`;
  return `${scheme.header} does not match ${listed} of the route: compare with the secret at the sender`;
}

function noSignature(headers: IncomingHttpHeaders): string {
  const mark = Object.keys(marks).find((name) => headers[name] !== undefined);
  const expected = mark === undefined ? undefined : marks[mark];
  if (expected === undefined) return 'the request has no header with a signature or a token';
  return `the header ${schemeNamed(expected).header} is missing: set the secret of the route at the sender`;
}
