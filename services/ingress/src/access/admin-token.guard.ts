import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { headerOf } from '../webhooks/authenticate/scheme.ts';
import { bearerToken } from '../webhooks/authenticate/schemes/bearer.ts';

const operators = new WeakSet<FastifyRequest>();

/** By strangers/entrance.ts alone, for a request that carries the admin token. */
export function letIn(request: FastifyRequest): void {
  operators.add(request);
}

/**
 * `/v1` opens for `Authorization: Bearer $ANGELIA_ADMIN_TOKEN` only, which strangers/entrance.ts looks at before the body is read.
 * This guard stands behind it: a controller that the entrance does not know to be of `/v1` opens for nobody.
 */
@Injectable()
export class AdminTokenGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (operators.has(context.switchToHttp().getRequest<FastifyRequest>())) return true;
    throw new Error('a controller with this guard is not behind the entrance of /v1');
  }
}

export function adminTokenOf(headers: IncomingHttpHeaders): string | null {
  return bearerToken(headerOf(headers, 'authorization'));
}

/** Without a token to compare with nothing is right. By digests, so that neither content nor length can be measured. */
export function tokenCheck(expected: string | undefined): (token: string) => boolean {
  if (expected === undefined) return () => false;
  const wanted = digest(expected);
  return (token) => timingSafeEqual(digest(token), wanted);
}

function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
