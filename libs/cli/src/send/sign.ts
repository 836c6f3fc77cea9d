import { createHmac } from 'node:crypto';
import type { AuthScheme } from '@angelia/contracts';
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

/** The schemes of services/ingress/src/webhooks/authenticate/schemes, on the sender's side. Tests send each to a real ingress. */
export const schemes: Readonly<Record<Exclude<AuthScheme, 'twilio'>, Scheme>> = {
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
export function schemeNamed(name: string): Scheme {
  if (name === 'twilio') {
    throw new CliError(
      EXIT.usage,
      'twilio signs the public address of the route, which this machine does not know: send it from Twilio, or give another --scheme',
    );
  }
  const scheme = Object.hasOwn(schemes, name) ? schemes[name as keyof typeof schemes] : undefined;
  if (scheme !== undefined) return scheme;
  throw new CliError(EXIT.usage, `scheme "${name}" does not exist: give one of ${schemeNames.join(', ')}`);
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
  return value === null ? {} : { [header]: value };
}
