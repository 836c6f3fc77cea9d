import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { headerOf } from '../webhooks/authenticate/scheme.ts';
import { bearerToken } from '../webhooks/authenticate/schemes/bearer.ts';

const authorized = new WeakSet<FastifyRequest>();

/** Only access-check.ts calls this, for a request that carries the admin token. */
export function markAuthorized(request: FastifyRequest): void {
  authorized.add(request);
}

/**
 * `/v1` needs `Authorization: Bearer $ANGELIA_ADMIN_TOKEN`. access-check.ts checks it before the body is read. This guard
 * is the second line: a controller whose address access-check.ts does not recognise as `/v1` answers nobody.
 */
@Injectable()
export class AdminTokenGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (authorized.has(context.switchToHttp().getRequest<FastifyRequest>())) return true;
    throw new Error(
      'a controller with this guard has an address that the access check does not recognise as /v1',
    );
  }
}

export function adminTokenOf(headers: IncomingHttpHeaders): string | null {
  return bearerToken(headerOf(headers, 'authorization'));
}

/** If no token is set, none is right. Compares digests, so that neither content nor length can be measured. */
export function tokenCheck(expected: string | undefined): (token: string) => boolean {
  if (expected === undefined) return () => false;
  const wanted = digest(expected);
  return (token) => timingSafeEqual(digest(token), wanted);
}

function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
