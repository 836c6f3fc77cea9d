import type { HmacAuth, TokenAuth } from './auth.ts';

// Without zod, because `angelia send` loads it.

/** As in `auth: { scheme: hmac }`, with its defaults. */
function hmac(own: Pick<HmacAuth, 'header'> & Partial<HmacAuth>): HmacAuth {
  return {
    scheme: 'hmac',
    algorithm: 'sha256',
    encoding: 'hex',
    prefix: '',
    signed: '{body}',
    tolerance_seconds: 300,
    ...own,
  };
}

const GRAFANA = 'X-Grafana-Alerting-Signature';

/**
 * How senders sign that need nothing else. If there are several ways, the first whose timestamp header the request has
 * counts.
 */
export const hmacPresets = {
  /** The secret is the client secret of the integration. */
  sentry: [
    hmac({ header: 'Sentry-Hook-Signature', id_header: 'Request-ID', event_header: 'Sentry-Hook-Resource' }),
  ],
  /** Several signatures, separated by commas, while its secret is rotated. */
  pagerduty: [hmac({ header: 'X-PagerDuty-Signature', prefix: 'v1=' })],
  /** The name of the timestamp header is free in Grafana; this is the one of its documentation. Without it, the body is signed. */
  grafana: [
    hmac({ header: GRAFANA, timestamp_header: `${GRAFANA}-Timestamp`, signed: '{timestamp}:{body}' }),
    hmac({ header: GRAFANA }),
  ],
  /** Bitbucket Cloud. Bitbucket Data Center has another header for the id: services/ingress. */
  bitbucket: [
    hmac({
      header: 'X-Hub-Signature',
      prefix: 'sha256=',
      id_header: 'X-Request-UUID',
      event_header: 'X-Event-Key',
    }),
  ],
  zendesk: [
    hmac({
      header: 'X-Zendesk-Webhook-Signature',
      encoding: 'base64',
      signed: '{timestamp}{body}',
      timestamp_header: 'X-Zendesk-Webhook-Signature-Timestamp',
      id_header: 'X-Zendesk-Webhook-Invocation-Id',
    }),
  ],
  typeform: [hmac({ header: 'Typeform-Signature', encoding: 'base64', prefix: 'sha256=' })],
} as const satisfies Record<string, readonly [HmacAuth, ...HmacAuth[]]>;

export const tokenPresets = {
  /** `secret_token` of setWebhook. */
  telegram: { scheme: 'token', header: 'X-Telegram-Bot-Api-Secret-Token' },
} as const satisfies Record<string, TokenAuth>;
