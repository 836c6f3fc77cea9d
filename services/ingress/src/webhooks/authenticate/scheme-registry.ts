import type { AuthScheme } from '@angelia/contracts';
import type { Scheme } from './scheme.ts';
import { basic } from './schemes/basic.ts';
import { bearer } from './schemes/bearer.ts';
import { bodyHmac } from './schemes/body-hmac.ts';
import { discord } from './schemes/discord.ts';
import { github } from './schemes/github.ts';
import { gitlab } from './schemes/gitlab.ts';
import { linear } from './schemes/linear.ts';
import { bitbucket, grafana, pagerduty, sentry, telegram, typeform, zendesk } from './schemes/presets.ts';
import { shopify } from './schemes/shopify.ts';
import { slack } from './schemes/slack.ts';
import { standardWebhooks, svix } from './schemes/standard-webhooks.ts';
import { stripe } from './schemes/stripe.ts';
import { timestampedHmac } from './schemes/timestamped-hmac.ts';
import { twilio } from './schemes/twilio.ts';

/**
 * The order in which authenticate.ts looks for headers: signatures of providers, then generic signatures, and in each
 * group those with a time before those without. Tokens come after them. `Authorization` is last, because a proxy or a
 * sender may add it for its own reasons. The first scheme that claims a request decides alone: a request with a stale
 * timestamp must not be taken by a weaker scheme whose header it also carries.
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
  // These came later. They claim only what the others leave, so that no request changed its scheme.
  sentry,
  pagerduty,
  grafana,
  bitbucket,
  zendesk,
  typeform,
  telegram,
  discord,
];

export function schemeNamed(name: AuthScheme): Scheme {
  const scheme = schemes.find((each) => each.name === name);
  if (scheme === undefined)
    throw new Error(`the config allows the scheme ${name}, but ingress does not have it`);
  return scheme;
}
