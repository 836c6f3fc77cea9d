import { createHmac } from 'node:crypto';
import type { Auth, AuthScheme, HmacAuth, TokenAuth } from '@angelia/contracts';
import { hmacPresets, tokenPresets } from '@angelia/contracts/auth-presets';
import { CliError, EXIT } from '../exit.ts';

/** What the signature covers: exactly the bytes that are sent. */
export interface Unsigned {
  readonly body: string;
  readonly secret: string;
  readonly deliveryId: string;
  readonly event: string | null;
  readonly nowMs: number;
}

export interface Scheme {
  /** The headers of the webhook, with the signature. */
  readonly headers: (unsigned: Unsigned) => Record<string, string>;
  /** The provider puts delivery id and event into the body, so only the payload can set them. */
  readonly namesInBody?: true;
  /** Adds what the provider itself writes into the body. */
  readonly stamp?: (body: Record<string, unknown>, nowMs: number) => Record<string, unknown>;
}

/** What this machine cannot sign, and why. */
const unsendable = {
  twilio:
    'twilio signs the public address of the route, which this machine does not know: send it from Twilio, or give another --scheme',
  discord:
    'discord signs with a private key that only Discord has: send it from Discord, or give another --scheme',
} as const satisfies Partial<Record<AuthScheme, string>>;

/** The schemes of services/ingress/src/webhooks/authenticate/schemes, on the sender's side. Tests send each to a real ingress. */
export const schemes: Readonly<Record<Exclude<AuthScheme, keyof typeof unsendable>, Scheme>> = {
  github: {
    headers: ({ body, secret, deliveryId, event }) => ({
      'x-hub-signature-256': `sha256=${hmac(secret, body).toString('hex')}`,
      'x-github-delivery': deliveryId,
      ...named('x-github-event', event),
    }),
  },
  hmac: {
    headers: ({ body, secret, deliveryId, event, nowMs }) => ({
      'x-webhook-timestamp': seconds(nowMs),
      'x-webhook-signature-v2': hmac(secret, `${seconds(nowMs)}.${body}`).toString('hex'),
      'x-request-id': deliveryId,
      ...named('x-event-type', event),
    }),
  },
  'hmac-body': {
    headers: ({ body, secret, deliveryId, event }) => ({
      'x-webhook-signature': hmac(secret, body).toString('hex'),
      'x-request-id': deliveryId,
      ...named('x-event-type', event),
    }),
  },
  'standard-webhooks': { headers: (unsigned) => standardHeaders('webhook', unsigned) },
  svix: { headers: (unsigned) => standardHeaders('svix', unsigned) },
  gitlab: {
    headers: ({ secret, deliveryId, event }) => ({
      'x-gitlab-token': secret,
      'idempotency-key': deliveryId,
      ...named('x-gitlab-event', event),
    }),
  },
  stripe: {
    namesInBody: true,
    headers: ({ body, secret, nowMs }) => ({
      'stripe-signature': `t=${seconds(nowMs)},v1=${hmac(secret, `${seconds(nowMs)}.${body}`).toString('hex')}`,
    }),
  },
  slack: {
    namesInBody: true,
    headers: ({ body, secret, nowMs }) => ({
      'x-slack-request-timestamp': seconds(nowMs),
      'x-slack-signature': `v0=${hmac(secret, `v0:${seconds(nowMs)}:${body}`).toString('hex')}`,
    }),
  },
  linear: {
    // Linear signs it, and ingress refuses it when it is older than a minute.
    stamp: (body, nowMs) => ({ webhookTimestamp: nowMs, ...body }),
    headers: ({ body, secret, deliveryId, event }) => ({
      'linear-signature': hmac(secret, body).toString('hex'),
      'linear-delivery': deliveryId,
      ...named('linear-event', event),
    }),
  },
  shopify: {
    headers: ({ body, secret, deliveryId, event }) => ({
      'x-shopify-hmac-sha256': hmac(secret, body).toString('base64'),
      'x-shopify-webhook-id': deliveryId,
      ...named('x-shopify-topic', event),
    }),
  },
  sentry: hmacOf(hmacPresets.sentry[0]),
  grafana: hmacOf(hmacPresets.grafana[0]),
  bitbucket: hmacOf(hmacPresets.bitbucket[0]),
  zendesk: hmacOf(hmacPresets.zendesk[0], (nowMs) => new Date(nowMs).toISOString()),
  pagerduty: { ...hmacOf(hmacPresets.pagerduty[0]), namesInBody: true },
  typeform: { ...hmacOf(hmacPresets.typeform[0]), namesInBody: true },
  telegram: { ...tokenOf(tokenPresets.telegram), namesInBody: true },
  bearer: {
    headers: ({ secret, deliveryId, event }) => ({
      authorization: `Bearer ${secret}`,
      'x-request-id': deliveryId,
      ...named('x-event-type', event),
    }),
  },
  basic: {
    headers: ({ secret, deliveryId, event }) => ({
      authorization: `Basic ${Buffer.from(secret.includes(':') ? secret : `angelia:${secret}`).toString('base64')}`,
      'x-request-id': deliveryId,
      ...named('x-event-type', event),
    }),
  },
};

export const schemeNames = Object.keys(schemes);

/** A route without `auth` takes every scheme. A secret in the format of Standard Webhooks is signed with that one. */
export function usualScheme(secret: string): string {
  return secret.startsWith(WHSEC) ? 'standard-webhooks' : 'github';
}

/** @throws CliError 2 */
export function schemeOf(auth: string | Exclude<Auth, string>): Scheme {
  if (typeof auth !== 'string') return auth.scheme === 'hmac' ? hmacOf(auth) : tokenOf(auth);
  if (Object.hasOwn(unsendable, auth)) {
    throw new CliError(EXIT.usage, unsendable[auth as keyof typeof unsendable]);
  }
  const scheme = Object.hasOwn(schemes, auth) ? schemes[auth as keyof typeof schemes] : undefined;
  if (scheme !== undefined) return scheme;
  throw new CliError(EXIT.usage, `scheme "${auth}" does not exist: give one of ${schemeNames.join(', ')}`);
}

/** `auth: { scheme: hmac }` and what is one. */
function hmacOf(auth: HmacAuth, timestampOf: (nowMs: number) => string = seconds): Scheme {
  return {
    headers: ({ body, secret, deliveryId, event, nowMs }) => {
      const values: Readonly<Record<string, string>> = {
        '{body}': body,
        '{timestamp}': timestampOf(nowMs),
        '{id}': deliveryId,
      };
      const signed = auth.signed.replace(/\{(?:body|timestamp|id)\}/g, (name) => values[name] ?? '');
      const signature = createHmac(auth.algorithm, secret).update(signed).digest(auth.encoding);
      return {
        [auth.header.toLowerCase()]: auth.prefix + signature,
        ...named(
          auth.timestamp_header ?? '',
          auth.timestamp_header === undefined ? null : timestampOf(nowMs),
        ),
        ...namesOf(auth, deliveryId, event),
      };
    },
  };
}

/** `auth: { scheme: token }` and what is one. */
function tokenOf(auth: TokenAuth): Scheme {
  return {
    headers: ({ secret, deliveryId, event }) => ({
      [auth.header.toLowerCase()]: secret,
      ...namesOf(auth, deliveryId, event),
    }),
  };
}

function namesOf(
  { id_header, event_header }: Pick<HmacAuth, 'id_header' | 'event_header'>,
  deliveryId: string,
  event: string | null,
): Record<string, string> {
  return {
    [id_header ?? 'x-request-id']: deliveryId,
    ...named(event_header ?? 'x-event-type', event),
  };
}

const WHSEC = 'whsec_';
const WHPK = 'whpk_';

function standardHeaders(
  prefix: 'webhook' | 'svix',
  { body, secret, deliveryId, event, nowMs }: Unsigned,
): Record<string, string> {
  if (secret.startsWith(WHPK)) {
    throw new CliError(
      EXIT.usage,
      'the route has a public key (whpk_): only the owner of the private key can sign',
    );
  }
  const key = secret.startsWith(WHSEC) ? Buffer.from(secret.slice(WHSEC.length), 'base64') : secret;
  const signed = `${deliveryId}.${seconds(nowMs)}.${body}`;
  return {
    [`${prefix}-id`]: deliveryId,
    [`${prefix}-timestamp`]: seconds(nowMs),
    [`${prefix}-signature`]: `v1,${hmac(key, signed).toString('base64')}`,
    ...named('x-event-type', event),
  };
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function seconds(ms: number): string {
  return String(Math.floor(ms / 1_000));
}

function named(header: string, value: string | null): Record<string, string> {
  return value === null ? {} : { [header.toLowerCase()]: value };
}
