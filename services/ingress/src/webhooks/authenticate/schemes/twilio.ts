import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { nameAt } from '../../admit/event-type.ts';
import { FORM_TYPE, MOST_FIELDS } from '../../payload/form-body.ts';
import { mediaTypeOf } from '../../payload/json-body.ts';
import { equalsBase64, sha256Hex } from '../digest.ts';
import { idInHeaders, type NamedRequest, type OwnId } from '../provider-names.ts';
import { claimsHeader, headerOf, type Scheme, type SignedRequest } from '../scheme.ts';

const HEADER = 'x-twilio-signature';
const BODY_HASH = 'bodySHA256';
const SHA256_HEX = /^[0-9a-fA-F]{64}$/;

/**
 * Twilio: `X-Twilio-Signature` is the base64 HMAC-SHA1 of the address that Twilio called and, for a form, of its fields
 * in order of their names. Any other body is signed by its hash in the address (`bodySHA256`): with that in the address
 * there is no form, or the signature of a JSON body would be good for a form without fields.
 *
 * The address comes from `public_url` of the config and never from `Host` or `X-Forwarded-*`: these are the sender's to
 * write, and a request that Twilio signed for another receiver of the same account could be replayed here with them.
 */
export const twilio: Scheme = {
  name: 'twilio',
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
    // Twilio leaves out the port of the address or writes it, by its own rules; its library tries both.
    for (const address of withAndWithoutPort(publicUrl)) {
      const digest = createHmac('sha1', secret.key).update(address).update(fields).digest();
      valid = equalsBase64(digest, signature) || valid;
    }
    return valid;
  },
  // Twilio repeats a request as it was, and signs no time.
  signed: ({ headers, body, publicUrl }) => ({
    sha256: sha256Hex(publicUrl ?? '', isForm(headers) ? (sortedFields(body) ?? body) : body),
    staleAfterSeconds: null,
  }),
  own: { id: idOf },
};

function isForm(headers: SignedRequest['headers']): boolean {
  return mediaTypeOf(headers['content-type']) === FORM_TYPE;
}

/**
 * What is shown as the delivery's id; what was signed says which delivery it is (`signed`). The id of a message, whose
 * status callbacks differ in their bodies; of a call, about which Twilio asks several times, its token comes first.
 */
function idOf(request: NamedRequest): OwnId | null {
  const message = nameAt(request.payload, 'MessageSid') ?? nameAt(request.payload, 'SmsSid');
  if (message !== null) return { text: message, perBody: true };
  const token = idInHeaders('i-twilio-idempotency-token')(request);
  if (token !== null) return token;
  const call = nameAt(request.payload, 'CallSid');
  return call === null ? null : { text: call, perBody: true };
}

/**
 * Names and values one after the other, by name; of a repeated field each value once, sorted, as Twilio's library does.
 * null: more fields than a form may have. Nobody is authenticated yet: it must not take long, however many there are.
 */
function sortedFields(body: Buffer): string | null {
  const text = body.toString('utf8');
  let pairs = 1;
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) {
    pairs += 1;
    if (pairs > MOST_FIELDS) return null;
  }
  const fields = new Map<string, Set<string>>();
  // It leaves out a `?` at the beginning: then not one of the body, whose first field has it in its name.
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

/** The address as it is, and with the port of its scheme left out or written. */
function withAndWithoutPort(address: string): readonly [string, string] {
  const [origin = '', scheme = '', host = '', port] = ORIGIN.exec(address) ?? [];
  const rest = address.slice(origin.length);
  const standard = scheme.toLowerCase() === 'https' ? ':443' : ':80';
  return [`${scheme}://${host}${rest}`, `${scheme}://${host}${port ?? standard}${rest}`];
}
