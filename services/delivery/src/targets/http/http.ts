import { type Signer, scrubber, secretsInAddress, signerOf } from '@angelia/config';
import type { HttpTargetBody } from '@angelia/contracts';
import { callHttp, connections, describeRefusal } from '../calls/http-call.ts';
import { publicOnlyLookup, refuseLiteralPrivateHost } from '../calls/public-addresses.ts';
import { credentialsIn } from '../redact-secrets.ts';
import type { OutboundMessage, Target, TargetSettings } from '../target.ts';
import { type HttpAddress, parseHttpAddress } from './http-address.ts';
import { classifyAnswer, wordsOf } from './http-answer.ts';

/** Firewalls and logs of receivers go by it. `targets.http.headers` may set another one. */
const USER_AGENT = 'angelia';

interface HttpTargetOptions {
  /** Certificates to trust besides the system's, for tests with their own server. */
  readonly ca?: string;
  readonly resolve?: Parameters<typeof publicOnlyLookup>[0];
}

/**
 * Posts JSON, signed as Standard Webhooks says (INTERFACES.md, "The http target"). It has two pools: the connections of one
 * were checked to lead to public addresses, and the other never uses them.
 */
export function httpTarget(options: HttpTargetOptions = {}): Target {
  const trusted = options.ca === undefined ? {} : { ca: options.ca };
  const anywhere = connections(trusted);
  const publicOnly = connections({ ...trusted, lookup: publicOnlyLookup(options.resolve) });
  const signers = new Map<string, Signer>();

  function signer(secret: string): Signer {
    const known = signers.get(secret);
    if (known) return known;
    const made = signerOf(secret);
    signers.set(secret, made);
    return made;
  }

  return {
    name: 'http',
    // By `webhook-id`. A receiver that ignores it still sees `possible_duplicate`.
    idempotent: true,

    destination(address) {
      const { url } = address.to;
      if (typeof url !== 'string' || !URL.canParse(url)) return { name: 'http', chat: null };
      const { origin, pathname } = new URL(url);
      return { name: `http ${origin}`, chat: null, circuit: `http ${origin}${pathname}` };
    },

    /** One chunk: a receiver of JSON has no limit that we know of. */
    compose: ({ text }) => [{ text }],

    async send({ message, address, settings, idempotencyKey, recordedAt, window }) {
      let to: HttpAddress;
      let headers: Record<string, string>;
      const body = bodyOf(message, recordedAt);
      try {
        to = parseHttpAddress(address, settings);
        if (to.publicOnly) refuseLiteralPrivateHost(to.url);
        headers = {
          'user-agent': USER_AGENT,
          ...to.headers,
          ...ownHeaders(idempotencyKey, body, settings, signer),
        };
      } catch (error) {
        return { kind: 'permanent', reason: describeRefusal(error) };
      }
      const result = await callHttp(
        to.publicOnly ? publicOnly : anywhere,
        { method: 'POST', url: to.url, headers, body },
        window,
        { readBody: 'refusals' },
      );
      if (result.kind !== 'answered') return result;
      const { status, headers: answered, body: said } = result;
      const words = said === '' ? '' : wordsOf(said, answered, scrubber(secretsOf(to, settings)));
      return classifyAnswer({ status, headers: answered, words }, to.url.origin, Date.now());
    },

    async close() {
      await Promise.all([anywhere.destroy(), publicOnly.destroy()]);
    },
  };
}

/** Whatever we sent that a receiver must not repeat in a reason. Many servers name the path that they do not know. */
function secretsOf({ url, headers }: HttpAddress, settings: TargetSettings): string[] {
  return [...credentialsIn(settings), ...Object.values(headers), ...secretsInAddress(url.href)];
}

function bodyOf(message: OutboundMessage, recordedAt: number): string {
  const data: HttpTargetBody['data'] = {
    ...(message.type === 'clarification' ? { clarification: true } : {}),
    ...(message.type === 'approval' ? { approval: true } : {}),
    session_id: message.sessionId,
    delivery_id: message.deliveryId,
    route: message.route,
    text: message.text,
    version: message.version,
  };
  const body: HttpTargetBody = {
    // There are only two types, as in the first version. A question is a status that wants an answer.
    type: message.type === 'final-response' ? 'final-response' : 'interim-status',
    ...data,
    possible_duplicate: message.possibleDuplicate,
    timestamp: new Date(recordedAt).toISOString(),
    data,
  };
  return JSON.stringify(body);
}

function ownHeaders(
  id: string,
  body: string,
  settings: TargetSettings,
  signer: (secret: string) => Signer,
): Record<string, string> {
  const now = new Date();
  const headers: Record<string, string> = {
    'content-type': 'application/json; charset=utf-8',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
  };
  if (typeof settings.secret === 'string')
    headers['webhook-signature'] = signer(settings.secret)(id, now, body);
  return headers;
}
