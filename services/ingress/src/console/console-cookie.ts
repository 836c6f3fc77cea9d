import type { CurrentConfig, Environment } from '@angelia/config';
import { CONFIG, ENVIRONMENT, metrics } from '@angelia/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { tooManyGuesses } from '../access/admin-token.ts';
import type { Authenticated, WayIn } from '../access/caller.ts';
import { type GuessVerdict, TokenGuesses } from '../access/token-guesses.ts';
import { clientNetworkOf } from '../http/client-network.ts';
import { CodedRefusal, Refusal } from '../http/refusal.ts';
import { headerOf } from '../webhooks/authenticate/scheme.ts';
import {
  type ConsoleSecrets,
  consoleSecrets,
  csrfTokenOf,
  digestOf,
  isCsrfTokenOf,
  type SecretKind,
} from './console-secrets.ts';
import { ConsoleSessions } from './console-sessions.ts';
import { crossSiteRefusal } from './same-origin.ts';
import { sessionCookieOf } from './session-cookie.ts';

export interface SignedIn {
  readonly digest: string;
  readonly actor: string;
  readonly csrfToken: string;
  readonly expiresAt: number;
}

/**
 * The cookie of a browser that signed in. A browser sends it by itself, also for a page that is not ours, so every call that
 * changes something also needs the CSRF token, which only our page knows.
 */
@Injectable()
export class ConsoleCookie implements WayIn {
  readonly secrets: ConsoleSecrets;
  readonly #guesses = new TokenGuesses();

  constructor(
    @Inject(ENVIRONMENT) environment: Environment,
    @Inject(CONFIG) private readonly config: CurrentConfig,
    @Inject(ConsoleSessions) private readonly sessions: ConsoleSessions,
  ) {
    this.secrets = consoleSecrets(environment);
  }

  async authenticate(request: FastifyRequest): Promise<Authenticated> {
    const found = await this.signedIn(request);
    if (found === null) return null;
    if (found instanceof Refusal) {
      metrics.apiRefused.add({ reason: reasonOf(found) });
      return found;
    }
    const { actor, digest } = found;
    return { actor, onEnd: (listener) => this.sessions.onEnd(digest, listener) };
  }

  /** Null: the request has no cookie of ours. @throws errors of the log */
  async signedIn(request: FastifyRequest): Promise<SignedIn | Refusal | null> {
    const secret = sessionCookieOf(request);
    if (secret === null) return null;
    const refusal = crossSiteRefusal(request, this.config.current.public_url);
    if (refusal !== null) return refusal;
    const verdict = this.judge('session', secret, request.ip);
    if (verdict !== 'right') return verdict === 'wrong' ? signedOut() : tooManyGuesses('wrong cookies');
    if (
      !isRead(request.method) &&
      !isCsrfTokenOf(secret, headerOf(request.headers, 'x-angelia-csrf') ?? '')
    ) {
      return new CodedRefusal(
        403,
        'csrf',
        'this call needs the header `X-Angelia-CSRF` with the `csrf_token` of GET /console/session',
      );
    }
    const digest = digestOf(secret);
    const session = await this.sessions.find(digest);
    return session === null ? signedOut() : { ...session, digest, csrfToken: csrfTokenOf(secret) };
  }

  /** Is it a secret that we made? Whether it still opens something is another question. */
  judge(kind: SecretKind, secret: string, ip: string): GuessVerdict {
    return this.#guesses.judge(
      clientNetworkOf(ip),
      () => this.secrets.isOurs(kind, secret),
      performance.now(),
    );
  }
}

export function signedOut(): Refusal {
  return new CodedRefusal(
    401,
    'signed_out',
    'this browser is not signed in, or no longer: open /console and sign in with the admin token, or with a new link of `angelia console`',
  );
}

function reasonOf({ code }: Refusal): 'signed_out' | 'slowed_down' | 'csrf' | 'cross_site' {
  if (code === 'csrf' || code === 'cross_site') return code;
  return code === 'signed_out' ? 'signed_out' : 'slowed_down';
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}
