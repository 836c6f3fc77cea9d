import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** What a link is for. A token for the one is none for the other: each purpose has a key of its own. */
export type LinkPurpose = 'answer' | 'callback';

/**
 * Makes and checks the tokens of links that work without the admin token. A token names something in the log (a session
 * and a question, a session and a call) and proves that we made it. It holds no time and is stored nowhere: whether
 * it may still be used is the state of what it names, which is also what makes it single-use.
 */
export interface SignedLinks {
  /** `<part>.<part>.<mac>`; a part is letters, digits, - and _, so that the token stands in a URL as it is. */
  token(...parts: readonly [string, ...string[]]): string;
  /** The parts; null: not a token of ours for this purpose, in whole or in part. */
  read(token: string): readonly string[] | null;
}

const PART = /^[A-Za-z0-9_-]{1,200}$/;
const KEY_BYTES = 32;
/** 32 bytes as base64url. */
const MAC_LENGTH = 43;
/** Two ids and the MAC are some 130; whatever is longer is not read at all. */
const LONGEST_TOKEN = 500;

/** @param masterKey ANGELIA_MASTER_KEY: 32 bytes in base64, as the environment's check has made sure */
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
