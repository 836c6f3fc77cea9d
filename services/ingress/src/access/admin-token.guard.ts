import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { callerOf } from './caller.ts';

/**
 * access-check.ts authenticates every call of `/v1` before the body is read. This guard is the second line: a controller
 * whose address access-check.ts does not recognise as `/v1` answers nobody.
 */
@Injectable()
export class AdminTokenGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (callerOf(context.switchToHttp().getRequest<FastifyRequest>()) !== null) return true;
    throw new Error(
      'a controller with this guard has an address that the access check does not recognise as /v1',
    );
  }
}
