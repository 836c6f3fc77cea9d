import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { ENVIRONMENT, type Environment, LOGGER, type Logger } from '@angelia/service-kit';
import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Refusal } from '../refusal.ts';
import { bearerToken } from '../schemes/bearer.ts';
import { headerOf } from '../schemes/scheme.ts';

/** `/v1` opens for `Authorization: Bearer $ANGELIA_ADMIN_TOKEN` only. Without that variable it opens for nobody. */
@Injectable()
export class AdminTokenGuard implements CanActivate {
  private readonly expected: Buffer | null;

  constructor(@Inject(ENVIRONMENT) environment: Environment, @Inject(LOGGER) logger: Logger) {
    this.expected = environment.adminToken === undefined ? null : digest(environment.adminToken);
    if (this.expected === null) {
      logger.warn({}, 'ANGELIA_ADMIN_TOKEN is not set: every request to /v1 will be answered with 401');
    }
  }

  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<FastifyRequest>();
    if (carriesToken(headers, this.expected)) return true;
    throw tokenWanted();
  }
}

export function tokenWanted(): Refusal {
  return new Refusal(
    401,
    'unauthorized',
    '/v1 needs the header `Authorization: Bearer <ANGELIA_ADMIN_TOKEN>`',
  );
}

/** Digests, so that neither content nor length of the token can be measured. */
export function carriesToken(headers: IncomingHttpHeaders, expected: Buffer | null): boolean {
  const token = bearerToken(headerOf(headers, 'authorization'));
  return token !== null && expected !== null && timingSafeEqual(digest(token), expected);
}

export function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
