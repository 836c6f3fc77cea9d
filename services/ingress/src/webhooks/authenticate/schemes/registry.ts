import type { AuthScheme } from '@angelia/contracts';
import type { Scheme } from '../scheme.ts';
import { basic } from './basic.ts';
import { bearer } from './bearer.ts';
import { bodyHmac } from './body-hmac.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';
import { linear } from './linear.ts';
import { shopify } from './shopify.ts';
import { slack } from './slack.ts';
import { standardWebhooks, svix } from './standard-webhooks.ts';
import { stripe } from './stripe.ts';
import { timestampedHmac } from './timestamped-hmac.ts';
import { twilio } from './twilio.ts';

/**
 * In the order in which headers are looked for: the providers' signatures, then the generic ones, in each the ones with
 * a time before those without; then tokens, `Authorization` last, which a proxy or a sender may add for reasons of its
 * own. There is no fall-through: a request with a stale timestamp must not be taken by a weaker scheme whose header it
 * also carries.
 */
export const schemes: readonly Scheme[] = [
  standardWebhooks,
  svix,
  stripe,
  slack,
  linear,
  github,
  shopify,
  twilio,
  timestampedHmac,
  bodyHmac,
  gitlab,
  basic,
  bearer,
];

export function schemeNamed(name: AuthScheme): Scheme {
  const scheme = schemes.find((each) => each.name === name);
  if (scheme === undefined) throw new Error(`the config knows a scheme that ingress does not: ${name}`);
  return scheme;
}
