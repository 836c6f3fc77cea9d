import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { FORM_TYPE, MOST_FIELDS } from '../../payload/form-body.ts';
import { mediaTypeOf } from '../../payload/json-body.ts';
import { nameAt } from '../../payload/lookup.ts';
import { equalsBase64, sha256Hex } from '../digest.ts';
import { idInHeaders, type NamedRequest, type ProviderId } from '../provider-names.ts';
import { claimsHeader, headerOf, type Scheme, type SignedRequest } from '../scheme.ts';

const HEADER = 'x-twilio-signature';
const BODY_HASH = 'bodySHA256';
const SHA256_HEX = /^[0-9a-fA-F]{64}$/;

/**
 * Twilio: `X-Twilio-Signature` is the base64 HMAC-SHA1 of the address that Twilio called and, for a form, of its fields
 * in the order of their names. Any other body is signed by its hash in the address (`bodySHA256`). An address with that
 * hash is refused for a form; otherwise the signature of a JSON body would also be valid for a form without fields.
 *
 * The address comes from `public_url` of the config and never from `Host` or `X-Forwarded-*`. The sender writes those,
 * and could use them to replay a request here that Twilio signed for another receiver of the same account.
 */
export const twilio: Scheme = {
  name: 'twilio',
  header: 'X-Twilio-Signature',
  claims: claimsHeader(HEADER),
  verify({ headers, body, publicUrl }, secret) {
    const signature = headerOf(headers, HEADER);
    if (signature === null || publicUrl === null) return false;
    const form = isForm(headers);
    const bodyHash = bodyHashIn(publicUrl);
    if (form ? bodyHash !== null : !isHashOf(bodyHash, body)) return false;
    const fields = form ? sortedFields(body) : '';
    if (fields === null) return false;
    let valid = false;
    // Twilio may or may not write the port of the address; its library tries both.
    for (const address of withAndWithoutPort(publicUrl)) {
      const digest = createHmac('sha1', secret.key).update(address).update(fields).digest();
      valid = equalsBase64(digest, signature) || valid;
    }
    return valid;
  },
  problem: ({ publicUrl }) =>
    publicUrl === null ? 'Twilio signs the URL that it calls: set `public_url` in the config' : null,
  // Twilio repeats a request unchanged, and signs no time.
  signed: ({ headers, body, publicUrl }) => ({
    sha256: sha256Hex(publicUrl ?? '', isForm(headers) ? (sortedFields(body) ?? body) : body),
    staleAfterSeconds: null,
  }),
  provider: { id: idOf },
};

function isForm(headers: SignedRequest['headers']): boolean {
  return mediaTypeOf(headers['content-type']) === FORM_TYPE;
}

/**
 * The id that is shown for the delivery; `signed` decides which delivery it is. A message has its own id, and its status
 * callbacks differ in their bodies. Twilio asks several times about one call, so a call's token comes before its id.
 */
function idOf(request: NamedRequest): ProviderId | null {
  const message = nameAt(request.payload, 'MessageSid') ?? nameAt(request.payload, 'SmsSid');
  if (message !== null) return { text: message, perBody: true };
  const token = idInHeaders('i-twilio-idempotency-token')(request);
  if (token !== null) return token;
  const call = nameAt(request.payload, 'CallSid');
  return call === null ? null : { text: call, perBody: true };
}

/**
 * Names and values one after the other, sorted by name. Each value of a repeated field appears once, sorted, as in
 * Twilio's library. null: more fields than a form may have. The sender is not authenticated yet, so this must stay fast
 * for any number of fields.
 */
function sortedFields(body: Buffer): string | null {
  const text = body.toString('utf8');
  let pairs = 1;
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) {
    pairs += 1;
    if (pairs > MOST_FIELDS) return null;
  }
  const fields = new Map<string, Set<string>>();
  // URLSearchParams drops a leading `?`. This one protects a `?` that belongs to the name of the first field.
  for (const [name, value] of new URLSearchParams(`?${text}`)) {
    const values = fields.get(name);
    if (values === undefined) fields.set(name, new Set([value]));
    else values.add(value);
  }
  return [...fields.keys()]
    .sort()
    .flatMap((name) => [...(fields.get(name) ?? [])].sort().map((value) => name + value))
    .join('');
}

function bodyHashIn(address: string): string | null {
  const query = address.indexOf('?');
  return query < 0 ? null : new URLSearchParams(address.slice(query)).get(BODY_HASH);
}

function isHashOf(given: string | null, body: Buffer): boolean {
  if (given === null || !SHA256_HEX.test(given)) return false;
  return timingSafeEqual(hash('sha256', body, 'buffer'), Buffer.from(given, 'hex'));
}

const ORIGIN = /^(https?):\/\/(\[[^\]]*\]|[^/:?]*)(:\d+)?/i;

/** The address without its port and with it; the standard port of its scheme if it names none. */
function withAndWithoutPort(address: string): readonly [string, string] {
  const [origin = '', scheme = '', host = '', port] = ORIGIN.exec(address) ?? [];
  const rest = address.slice(origin.length);
  const standard = scheme.toLowerCase() === 'https' ? ':443' : ':80';
  return [`${scheme}://${host}${rest}`, `${scheme}://${host}${port ?? standard}${rest}`];
}
