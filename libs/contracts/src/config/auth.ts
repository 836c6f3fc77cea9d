import { z } from 'zod';

/** The values of a route's `auth` that are names: how a sender proves who it is (services/ingress). */
export const authSchemes = [
  'standard-webhooks',
  'svix',
  'github',
  'gitlab',
  'stripe',
  'slack',
  'linear',
  'shopify',
  'twilio',
  'hmac',
  'hmac-body',
  'bearer',
  'basic',
  'sentry',
  'pagerduty',
  'grafana',
  'bitbucket',
  'zendesk',
  'typeform',
  'telegram',
  'discord',
] as const;

export type AuthScheme = (typeof authSchemes)[number];

const headerName = z
  .string()
  .regex(
    /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/,
    'the name of a header has letters, digits, - and _, such as X-Signature.',
  );

const SIGNED_PLACEHOLDER = /\{([^{}]*)\}/g;

/** Where senders without a scheme of their own put the id and the type of an event. */
const names = { id_header: headerName.optional(), event_header: headerName.optional() };

const hmacAuth = z
  .strictObject({
    scheme: z.literal('hmac'),
    /** The header with the signature. */
    header: headerName,
    algorithm: z.enum(['sha1', 'sha256', 'sha512']).default('sha256'),
    encoding: z.enum(['hex', 'base64']).default('hex'),
    /** What is before the signature in its header: `sha256=`. */
    prefix: z.string().max(100).default(''),
    /** What is signed, of `{body}`, `{timestamp}` and `{id}`. */
    signed: z.string().max(200).default('{body}'),
    /** Unix seconds or milliseconds, or ISO 8601. */
    timestamp_header: headerName.optional(),
    ...names,
    /** How far off the timestamp may be: enough for clock skew and a slow network, not for a replay. */
    tolerance_seconds: z.number().positive().max(86_400).default(300),
  })
  .superRefine(({ signed, timestamp_header, id_header }, context) => {
    const used = [...signed.matchAll(SIGNED_PLACEHOLDER)].map(([, name]) => name);
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    const unknown = used.find((name) => name !== 'body' && name !== 'timestamp' && name !== 'id');
    if (unknown !== undefined) {
      refuse('signed', `\`{${unknown}}\` cannot be signed. Use {body}, {timestamp} and {id}.`);
    }
    if (used.filter((name) => name === 'body').length !== 1) {
      refuse('signed', 'it must contain {body} exactly once. Otherwise anybody could change the body.');
    }
    if (used.includes('timestamp') && timestamp_header === undefined) {
      refuse('timestamp_header', '`signed` has {timestamp}. Name the header that carries it.');
    }
    if (timestamp_header !== undefined && !used.includes('timestamp')) {
      refuse(
        'signed',
        'a timestamp that is not signed proves nothing. Add {timestamp}, or remove `timestamp_header`.',
      );
    }
    if (used.includes('id') && id_header === undefined) {
      refuse('id_header', '`signed` has {id}. Name the header that carries it.');
    }
  });

const tokenAuth = z.strictObject({
  scheme: z.literal('token'),
  /** The header whose value is the secret. */
  header: headerName,
  ...names,
});

export type HmacAuth = z.output<typeof hmacAuth>;
export type TokenAuth = z.output<typeof tokenAuth>;
export type Auth = AuthScheme | HmacAuth | TokenAuth;

export const authSchema = z.union(
  [z.enum(authSchemes), z.discriminatedUnion('scheme', [hmacAuth, tokenAuth])],
  {
    error: ({ input }) =>
      typeof input === 'string'
        ? `"${input.slice(0, 60)}" is not a value of \`auth\`. Use ${authSchemes.join(', ')}, or an object with \`scheme\` (hmac or token) and \`header\`.`
        : undefined,
  },
);

/** With its defaults; null for what is not a valid `auth`. */
export function parseAuth(value: unknown): Auth | null {
  const parsed = authSchema.safeParse(value);
  return parsed.success ? parsed.data : null;
}
