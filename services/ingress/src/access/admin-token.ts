import { hash, timingSafeEqual } from 'node:crypto';
import type { Environment } from '@angelia/config';
import { ENVIRONMENT, LOGGER, type Logger, metrics } from '@angelia/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { clientNetworkOf } from '../http/client-network.ts';
import { Refusal } from '../http/refusal.ts';
import { headerOf } from '../webhooks/authenticate/scheme.ts';
import { bearerToken } from '../webhooks/authenticate/schemes/bearer.ts';
import type { Authenticated, WayIn } from './caller.ts';
import { type GuessVerdict, TokenGuesses } from './token-guesses.ts';

/** Logged at most once a minute, however many there are. */
const LOG_EVERY_MS = 60_000;
const RETRY_AFTER_SECONDS = 1;

/** `Authorization: Bearer $ANGELIA_ADMIN_TOKEN`. The sign-in of the console also takes the token, and shares the count of guesses. */
@Injectable()
export class AdminToken implements WayIn {
  readonly #isRight: (token: string) => boolean;
  readonly #guesses = new TokenGuesses();
  readonly #wrongTokens: { at: number; since: number } = { at: -Infinity, since: 0 };

  constructor(
    @Inject(ENVIRONMENT) environment: Environment,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#isRight = tokenCheck(environment.adminToken);
    if (environment.adminToken === undefined) {
      logger.warn(
        {},
        'ANGELIA_ADMIN_TOKEN is not set; every request to /v1 is answered with 401, and nobody can sign in to the console',
      );
    }
  }

  authenticate({ headers, ip }: FastifyRequest): Authenticated {
    const token = bearerToken(headerOf(headers, 'authorization'));
    if (token === null) return null;
    const verdict = this.judge(token, ip);
    if (verdict === 'right') return { actor: 'api' };
    metrics.apiRefused.add({ reason: verdict === 'wrong' ? 'wrong_token' : 'slowed_down' });
    return verdict === 'wrong' ? unauthorized() : tooManyGuesses();
  }

  judge(token: string, ip: string): GuessVerdict {
    const verdict = this.#guesses.judge(clientNetworkOf(ip), () => this.#isRight(token), performance.now());
    if (verdict !== 'right') this.#logWrongToken(ip);
    return verdict;
  }

  #logWrongToken(address: string): void {
    this.#wrongTokens.since += 1;
    const now = performance.now();
    if (now - this.#wrongTokens.at < LOG_EVERY_MS) return;
    this.logger.warn(
      { address, since_last_told: this.#wrongTokens.since },
      'wrong admin token (logged at most once a minute; the address is the latest)',
    );
    this.#wrongTokens.at = now;
    this.#wrongTokens.since = 0;
  }
}

export function unauthorized(): Refusal {
  return new Refusal(
    401,
    'unauthorized',
    '/v1 needs the header `Authorization: Bearer <ANGELIA_ADMIN_TOKEN>`',
  );
}

export function tooManyGuesses(what = 'calls with a wrong admin token'): Refusal {
  return new Refusal(
    429,
    'too_many_guesses',
    `too many ${what} came from this address: wait, then send the right one`,
    RETRY_AFTER_SECONDS,
  );
}

/** If no token is set, none is right. Compares digests, so that neither content nor length can be measured. */
function tokenCheck(expected: string | undefined): (token: string) => boolean {
  if (expected === undefined) return () => false;
  const wanted = digest(expected);
  return (token) => timingSafeEqual(digest(token), wanted);
}

function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
