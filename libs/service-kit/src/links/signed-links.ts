import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** What a link is for. Each purpose has its own key, so a token for one is not valid for the other. */
type LinkPurpose = 'answer' | 'callback' | 'console-session' | 'console-link';

/**
 * Makes and checks the tokens of links that work without the admin token. A token names something in the log (a session and
 * a question, a session and a call) and proves that we made it. It holds no time and is not stored. The state of what it
 * names decides whether it may still be used, which also makes it single-use.
 */
interface SignedLinks {
  /** `<part>.<part>.<mac>`. A part has letters, digits, - and _, so a URL holds the token unencoded. */
  token(...parts: readonly [string, ...string[]]): string;
  /** The parts; null: not a token that we made for this purpose. */
  read(token: string): readonly string[] | null;
}

const PART = /^[A-Za-z0-9_-]{1,200}$/;
const KEY_BYTES = 32;
/** 32 bytes as base64url. */
const MAC_LENGTH = 43;
/** Two ids and the MAC have about 130 characters. A longer token is not read. */
const LONGEST_TOKEN = 500;

/** @param masterKey ANGELIA_MASTER_KEY: 32 bytes in base64 (the check of the environment made sure) */
export function signedLinks(masterKey: string, purpose: LinkPurpose): SignedLinks {
  const derived = hkdfSync(
    'sha256',
    Buffer.from(masterKey, 'base64'),
    '',
    `angelia ${purpose} link`,
    KEY_BYTES,
  );
  const key = Buffer.from(derived);
  const macOf = (text: string): string => createHmac('sha256', key).update(text).digest('base64url');
  return {
    token: (...parts) => {
      const wrong = parts.find((part) => !PART.test(part));
      if (wrong !== undefined) throw new Error(`"${wrong}" cannot be part of a link`);
      const named = parts.join('.');
      return `${named}.${macOf(named)}`;
    },
    read: (token) => {
      if (token.length > LONGEST_TOKEN) return null;
      const end = token.lastIndexOf('.');
      if (end <= 0) return null;
      const named = token.slice(0, end);
      const given = Buffer.from(token.slice(end + 1));
      const right = Buffer.from(macOf(named));
      if (given.length !== MAC_LENGTH || !timingSafeEqual(given, right)) return null;
      return named.split('.');
    },
  };
}
