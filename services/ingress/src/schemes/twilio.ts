import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { nameAt } from '../event-type.ts';
import { equalsBase64 } from './digest.ts';
import { idInHeaders, type NamedRequest, type OwnId } from './own-names.ts';
import { claimsHeader, headerOf, type Scheme } from './scheme.ts';

const HEADER = 'x-twilio-signature';
const FORM = 'application/x-www-form-urlencoded';
const BODY_HASH = 'bodySHA256';
const SHA256_HEX = /^[0-9a-fA-F]{64}$/;

/**
 * Twilio: `X-Twilio-Signature` is the base64 HMAC-SHA1 of the address that Twilio called and, for a form, of its fields
 * in order of their names. Any other body is signed by its hash in the address (`bodySHA256`).
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
    const form = (headers['content-type'] ?? '').toLowerCase().startsWith(FORM);
    if (!form && !matchesBodyHash(publicUrl, body)) return false;
    const fields = form ? sortedFields(body) : '';
    let valid = false;
    // Twilio leaves out the port of the address or writes it, by its own rules; its library tries both.
    for (const address of withAndWithoutPort(publicUrl)) {
      const digest = createHmac('sha1', secret.key).update(address).update(fields).digest();
      valid = equalsBase64(digest, signature) || valid;
    }
    return valid;
  },
  own: { id: idOf },
};

/**
 * The signed id of a message, whose status callbacks differ in their bodies. Of a call the unsigned token comes first:
 * Twilio asks several times in one call, and may do so with the same body.
 */
function idOf(request: NamedRequest): OwnId | null {
  const message = nameAt(request.payload, 'MessageSid') ?? nameAt(request.payload, 'SmsSid');
  if (message !== null) return { text: message, perBody: true };
  const token = idInHeaders('i-twilio-idempotency-token')(request);
  if (token !== null) return token;
  const call = nameAt(request.payload, 'CallSid');
  return call === null ? null : { text: call, perBody: true };
}

/** Names and values one after the other, by name; of a repeated field each value once, sorted, as Twilio's library does. */
function sortedFields(body: Buffer): string {
  const fields = new URLSearchParams(body.toString('utf8'));
  return [...new Set(fields.keys())]
    .sort()
    .map((name) =>
      [...new Set(fields.getAll(name))]
        .sort()
        .map((value) => name + value)
        .join(''),
    )
    .join('');
}

function matchesBodyHash(address: string, body: Buffer): boolean {
  const query = address.indexOf('?');
  const given = query < 0 ? null : new URLSearchParams(address.slice(query)).get(BODY_HASH);
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
