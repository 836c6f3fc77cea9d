import { VariableText } from '../load/variable-text.ts';
import { replaceAny } from './replace-any.ts';

/** What stands where a secret was. */
export const REDACTED = '[redacted]';

/**
 * Shorter values are not searched for: a secret of five letters would blank half of the log, and is no secret.
 * (The config accepts it; signatures are checked all the same.)
 */
const SHORTEST_SEARCHED = 6;

const SECRET_KEY =
  /(^|[_\-.])(secret|token|password|passwd|api[_-]?key|authorization|cookie|credentials?|private[_-]?key|master[_-]?key|signature)s?$/i;

/** `apiKey` and `botToken` are `api_key` and `bot_token`. */
export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(key) || SECRET_KEY.test(key.replace(/([a-z0-9])([A-Z])/g, '$1_$2'));
}

/** Every string under a key that names a secret, anywhere in the config, and what addresses take from the environment. */
export function secretValuesIn(value: unknown, underSecretKey = false): string[] {
  if (value instanceof VariableText) return value.values().flatMap(secretsInAddress);
  if (typeof value === 'string') return underSecretKey ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((item) => secretValuesIn(item, underSecretKey));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    secretValuesIn(item, underSecretKey || isSecretKey(key)),
  );
}

/** A value that is part of an address. Of a whole URL the path is what opens something: it may be told without its host. */
export function secretsInAddress(value: string): string[] {
  if (!URL.canParse(value)) return [value];
  const { pathname, search, searchParams } = new URL(value);
  const path = `${pathname}${search}`;
  return [value, ...(path.length < SHORTEST_PATH ? [] : [path, pathname]), ...searchParams.values()].filter(
    (part) => part !== '/',
  );
}

/** A shorter one (`/api/hook`) is a place, and stands in many a line. */
const SHORTEST_PATH = 16;

/** The password of a URL, as written and decoded. */
export function secretsInUrl(text: string): string[] {
  try {
    const { username, password } = new URL(text);
    // NATS takes a bare token where other URLs have the user.
    const secret = password !== '' ? password : text.startsWith('nats') ? username : '';
    return secret === '' ? [] : [secret, decodeURIComponent(secret)];
  } catch {
    return [];
  }
}

const URL_PASSWORD = /(:\/\/[^\s/:@"\\]*:)[^\s/@"\\]+@/g;
/** The token of a signed link opens what it names, and is in no list of known secrets. */
const SIGNED_LINK = /\/(answers|callbacks)\/[A-Za-z0-9._-]+/g;
const AUTH_SCHEME = /\b(Bearer|Basic) +[A-Za-z0-9._~+/=-]{6,}/g;

/**
 * A function that takes the secrets out of a finished text, in whatever form they stand there (formsOf). Made once; then
 * 0.3 us for a line of 460 characters and ten secrets, 0.7 us for forty (replace-any.ts).
 */
export function scrubber(secrets: Iterable<string>): (text: string) => string {
  const searched = [...secrets]
    .flatMap(withKeyAlone)
    .filter((secret) => secret.length >= SHORTEST_SEARCHED && secret !== 'INSECURE_NO_AUTH')
    .flatMap(formsOf);
  const withoutKnown = replaceAny(searched, REDACTED);
  return (text) => {
    let clean = withoutKnown(text);
    if (clean.includes('://') && clean.includes('@')) clean = clean.replace(URL_PASSWORD, `$1${REDACTED}@`);
    if (clean.includes('/answers/') || clean.includes('/callbacks/'))
      clean = clean.replace(SIGNED_LINK, `/$1/${REDACTED}`);
    if (clean.includes('Bearer ') || clean.includes('Basic '))
      clean = clean.replace(AUTH_SCHEME, `$1 ${REDACTED}`);
    return clean;
  };
}

/** A header is kept as `Bearer <key>`; who refuses it likes to quote the key alone. */
function withKeyAlone(secret: string): string[] {
  const key = /^\w+ +(\S+)$/.exec(secret)?.[1];
  return key === undefined ? [secret] : [secret, key];
}

/** As it stands in URLs, HTML, JSON and base64; many of these are the same for a secret of letters and digits. */
function formsOf(secret: string): string[] {
  const text = secret.toWellFormed();
  const component = encodeURIComponent(text);
  // What encodeURIComponent leaves, others encode: forms all five, browsers the apostrophe.
  const strict = component.replace(/[!'()~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const inUrls = [component, strict, strict.replaceAll('%20', '+'), encodeURI(text)];
  const plain = [
    secret,
    ...inUrls,
    ...inUrls.map((encoded) => encoded.replace(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase())),
    inHtml(text, '&#39;'),
    inHtml(text, '&#x27;'),
    // PHP's JSON.
    jsonEscaped(secret).replaceAll('/', '\\/'),
    ...inBase64(Buffer.from(text)),
  ];
  // In JSON, and in JSON that is quoted in JSON: a platform's answer in a line of the log.
  const once = plain.map(jsonEscaped);
  const twice = once.map(jsonEscaped);
  return [...plain, ...once, ...twice, ...twice.map(jsonEscaped)];
}

function jsonEscaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function inHtml(text: string, apostrophe: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", apostrophe);
}

/**
 * Inside of a longer text that is encoded (`user:secret` of Basic auth) a secret begins at one of three places of base64's
 * groups. Searched for are the characters that it alone decides; of those at its two ends others decide a part.
 */
function inBase64(bytes: Buffer): string[] {
  return DECIDED_BY_OTHERS.flatMap((others, before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    const own = encoded.slice(others, Math.floor(((before + bytes.length) * 8) / 6));
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

/** Characters of base64 that 0, 1 and 2 bytes before the secret have a part in. */
const DECIDED_BY_OTHERS = [0, 2, 3] as const;
