import type { HmacAuth, TokenAuth } from '@angelia/contracts';
import { equalsBase64, equalsHex, equalsText, hmacOf, sha256Hex } from '../digest.ts';
import { eventInHeader, idInHeaders, type ProviderNames } from '../provider-names.ts';
import { isFreshTime, staleAfter, timeProblem } from '../replay-window.ts';
import { claimsHeader, headerOf, type Scheme, type SignedRequest } from '../scheme.ts';

/** More than any rotation needs. Each costs one comparison. */
const MOST_SIGNATURES = 8;
const PLACEHOLDER = /(\{(?:body|timestamp|id)\})/;

/** `auth: { scheme: hmac, header, ... }`: an HMAC as the operator describes it, and the presets that are one. */
export function hmacScheme(
  name: Scheme['name'],
  /** If there are several, the first whose timestamp header the request has counts. */
  [first, ...others]: readonly [HmacAuth, ...HmacAuth[]],
  provider: ProviderNames | undefined = namesOf(first),
): Scheme {
  const ways = [first, ...others].map(compile);
  const wayOf = ({ headers }: SignedRequest): Way =>
    ways.find(({ timestamp }) => timestamp === null || headers[timestamp] !== undefined) ?? (ways[0] as Way);
  return {
    name,
    header: first.header,
    claims: claimsHeader(first.header.toLowerCase()),
    verify(request, secret) {
      const way = wayOf(request);
      const signatures = headerOf(request.headers, way.header);
      const content = way.contentOf(request);
      if (signatures === null || content === null) return false;
      const digest = hmacOf(way.auth.algorithm, secret.key, content);
      const equals = way.auth.encoding === 'hex' ? equalsHex : equalsBase64;
      let valid = false;
      for (const entry of signatures.split(',', MOST_SIGNATURES)) {
        const text = entry.trim();
        if (!text.startsWith(way.auth.prefix)) continue;
        valid = equals(digest, text.slice(way.auth.prefix.length)) || valid;
      }
      return valid;
    },
    problem: (request) => problemOf(wayOf(request), request),
    ...(provider === undefined ? {} : { provider }),
    ...(provider?.idIsSigned === true || ways.every(({ timestamp }) => timestamp === null)
      ? {}
      : { signed: (request) => signedContent(wayOf(request), request) }),
  };
}

/** `auth: { scheme: token, header }`: a header whose value is the secret. */
export function tokenScheme(
  name: Scheme['name'],
  auth: TokenAuth,
  provider: ProviderNames | undefined = namesOf(auth),
): Scheme {
  const header = auth.header.toLowerCase();
  return {
    name,
    header: auth.header,
    claims: claimsHeader(header),
    verify({ headers }, secret) {
      const token = headerOf(headers, header);
      return token !== null && equalsText(token, secret);
    },
    tokenHeader: header,
    ...(provider === undefined ? {} : { provider }),
  };
}

/** A way to sign, with the names of its headers as Node spells them. */
interface Way {
  readonly auth: HmacAuth;
  readonly header: string;
  /** null: there is none. */
  readonly timestamp: string | null;
  /** null: a header is missing, or the timestamp is not fresh. */
  readonly contentOf: (request: SignedRequest) => readonly (string | Buffer)[] | null;
}

function compile(auth: HmacAuth): Way {
  const timestamp = auth.timestamp_header?.toLowerCase() ?? null;
  const id = auth.id_header?.toLowerCase() ?? '';
  const parts = auth.signed.split(PLACEHOLDER).filter((part) => part !== '');
  return {
    auth,
    header: auth.header.toLowerCase(),
    timestamp,
    contentOf({ headers, body, nowMs }) {
      const time = timestamp === null ? '' : headerOf(headers, timestamp);
      if (timestamp !== null && !isFreshTime(time, nowMs, auth.tolerance_seconds)) return null;
      const content: (string | Buffer)[] = [];
      for (const part of parts) {
        if (part === '{body}') content.push(body);
        else if (part === '{timestamp}') content.push(time ?? '');
        else if (part === '{id}') {
          const value = headerOf(headers, id);
          if (value === null || value === '') return null;
          content.push(value);
        } else content.push(part);
      }
      return content;
    },
  };
}

/** For the operator: what is wrong besides the secret. */
function problemOf({ auth, header, timestamp, contentOf }: Way, request: SignedRequest): string | null {
  const { headers, nowMs } = request;
  if (timestamp !== null) {
    const problem = timeProblem(
      auth.timestamp_header ?? '',
      headerOf(headers, timestamp),
      nowMs,
      auth.tolerance_seconds,
    );
    if (problem !== null) return problem;
  }
  if (contentOf(request) === null) return `the header ${auth.id_header} is missing`;
  const entries = (headerOf(headers, header) ?? '').split(',', MOST_SIGNATURES);
  return entries.some((entry) => entry.trim().startsWith(auth.prefix))
    ? null
    : `${auth.header} does not begin with \`${auth.prefix}\``;
}

/** Of a request that was verified. Without a time, nothing tells a captured request from the sender's own repeat. */
function signedContent(way: Way, request: SignedRequest): ReturnType<NonNullable<Scheme['signed']>> {
  if (way.timestamp === null) return null;
  const content = way.contentOf(request) ?? [request.body];
  return { sha256: sha256Hex(...content), staleAfterSeconds: staleAfter(way.auth.tolerance_seconds) };
}

function namesOf(auth: HmacAuth | TokenAuth): ProviderNames | undefined {
  const { id_header: id, event_header: event } = auth;
  if (id === undefined && event === undefined) return undefined;
  return {
    id: id === undefined ? () => null : idInHeaders(id.toLowerCase()),
    ...(auth.scheme === 'hmac' && auth.signed.includes('{id}') ? { idIsSigned: true } : {}),
    ...(event === undefined ? {} : { event: eventInHeader(event.toLowerCase()) }),
  };
}
