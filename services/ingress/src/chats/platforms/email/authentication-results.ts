/**
 * Whether the server that received a mail vouches for its sender (RFC 8601). `From` is whatever the sender wrote, so this
 * alone says who speaks. Only the topmost header counts: our server puts its own above those that came with the mail. And it
 * must have our server's name, which the server removes from headers that came with the mail.
 */
export function isVouchedFor(header: string | null, authservId: string, fromDomain: string): boolean {
  const results = header === null ? null : readResults(header);
  if (results === null || results.authservId.toLowerCase() !== authservId.toLowerCase()) return false;
  const from = fromDomain.toLowerCase();
  const dmarc = results.methods.filter(({ method }) => method === 'dmarc');
  // A failure counts more than any signature that is also there.
  if (dmarc.length > 0) {
    return dmarc.every(({ result, properties }) => {
      return result === 'pass' && properties.get('header.from')?.toLowerCase() === from;
    });
  }
  return results.methods.some(
    ({ method, result, properties }) =>
      method === 'dkim' && result === 'pass' && isAligned(signerOf(properties), from),
  );
}

/** The signing domain is the sender's own, or one above it. A domain next to it or below it may belong to somebody else. */
function isAligned(signer: string | null, from: string): boolean {
  if (signer === null || !signer.includes('.')) return false;
  return from === signer || from.endsWith(`.${signer}`);
}

function signerOf(properties: ReadonlyMap<string, string>): string | null {
  const identity = properties.get('header.i');
  const domain = properties.get('header.d') ?? identity?.slice(identity.lastIndexOf('@') + 1);
  return domain?.toLowerCase() || null;
}

interface Results {
  readonly authservId: string;
  readonly methods: readonly MethodResult[];
}

interface MethodResult {
  readonly method: string;
  readonly result: string;
  readonly properties: ReadonlyMap<string, string>;
}

/** Null: not well formed. Nothing in it is believed then. */
function readResults(header: string): Results | null {
  const tokens = tokensOf(header);
  if (tokens === null) return null;
  const [first = [], ...rest] = splitAt(tokens, ';');
  // A version may follow the name: `mx.example.com 1`.
  const [authservId, version, more] = first;
  if (authservId === undefined || more !== undefined) return null;
  if (version !== undefined && !/^\d+$/.test(version.text)) return null;
  const methods: MethodResult[] = [];
  for (const part of rest) {
    const pairs = pairsOf(part);
    if (pairs === null) return null;
    const [named, ...properties] = pairs;
    if (named === undefined) continue;
    const [method = ''] = named.name.split('/');
    methods.push({
      method: method.toLowerCase(),
      result: named.value.toLowerCase(),
      properties: firstOfEach(properties),
    });
  }
  return { authservId: authservId.text, methods };
}

interface Token {
  readonly text: string;
  /** A `;` or `=` that was not quoted. */
  readonly mark: boolean;
}

interface Pair {
  readonly name: string;
  readonly value: string;
}

/** Comments are left out, and what is quoted is one token: both hold whatever the sender chose. Null: one of them has no end. */
function tokensOf(header: string): Token[] | null {
  const tokens: Token[] = [];
  let word: string | null = null;
  const end = () => {
    if (word !== null) tokens.push({ text: word, mark: false });
    word = null;
  };
  for (let at = 0; at < header.length; at += 1) {
    const char = header[at] ?? '';
    if (char === '(') {
      const after = endOfComment(header, at);
      if (after === null) return null;
      end();
      at = after;
    } else if (char === '"') {
      const quoted = quotedAt(header, at);
      if (quoted === null) return null;
      word = (word ?? '') + quoted.text;
      at = quoted.end;
    } else if (char === ';' || char === '=') {
      end();
      tokens.push({ text: char, mark: true });
    } else if (/\s/.test(char)) end();
    else if (char === ')') return null;
    else word = (word ?? '') + char;
  }
  end();
  return tokens;
}

/** Comments can be nested. */
function endOfComment(header: string, start: number): number | null {
  let depth = 0;
  for (let at = start; at < header.length; at += 1) {
    const char = header[at];
    if (char === '\\') at += 1;
    else if (char === '(') depth += 1;
    else if (char === ')') {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return null;
}

function quotedAt(header: string, start: number): { readonly text: string; readonly end: number } | null {
  let text = '';
  for (let at = start + 1; at < header.length; at += 1) {
    const char = header[at] ?? '';
    if (char === '"') return { text, end: at };
    if (char === '\\') {
      at += 1;
      text += header[at] ?? '';
    } else text += char;
  }
  return null;
}

function splitAt(tokens: readonly Token[], mark: string): Token[][] {
  const parts: Token[][] = [[]];
  for (const token of tokens) {
    if (token.mark && token.text === mark) parts.push([]);
    else parts.at(-1)?.push(token);
  }
  return parts;
}

/** `name = value` one after the other. A word without `=` (`none`) is passed over, and so is what stands before it. */
function pairsOf(tokens: readonly Token[]): Pair[] | null {
  const pairs: Pair[] = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const [name, equals, value] = tokens.slice(at, at + 3);
    if (name === undefined || name.mark) return null;
    if (equals === undefined || !equals.mark) continue;
    if (value === undefined || value.mark) return null;
    pairs.push({ name: name.text.toLowerCase(), value: value.text });
    at += 2;
  }
  return pairs;
}

function firstOfEach(pairs: readonly Pair[]): ReadonlyMap<string, string> {
  const properties = new Map<string, string>();
  for (const { name, value } of pairs) if (!properties.has(name)) properties.set(name, value);
  return properties;
}
