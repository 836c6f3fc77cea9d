import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Refusal } from '../http/refusal.ts';

/** Whoever makes a call of `/v1`, once it is known who that is. */
export interface Caller {
  /** As events name it (invariant every-act-has-an-actor). */
  readonly actor: string;
  /**
   * Calls the listener once, when the caller may no longer go on: it signed out, or its time is up. For answers that last,
   * such as streams. Returns how to stop waiting. Absent: its right does not end by itself.
   */
  readonly onEnd?: (listener: () => void) => () => void;
}

/**
 * One way to prove who one is: the admin token, the cookie of the console. Named tokens or OIDC are further ones: a class
 * with this function, and a line in ingress.module.ts. What a caller may do (roles) becomes a field of Caller.
 */
export interface WayIn {
  /**
   * Null: the request brings nothing that this way knows. Called before any byte of the body is read, so it looks at
   * headers only. A stranger can call it at any rate: it must cost little (invariant strangers-cost-little).
   */
  authenticate(request: FastifyRequest): Authenticated | Promise<Authenticated>;
}

export type Authenticated = Caller | Refusal | null;

const callers = new WeakMap<FastifyRequest, Caller>();

/** Only access-check.ts calls this. */
export function setCaller(request: FastifyRequest, caller: Caller): void {
  callers.set(request, caller);
}

/** Null: nobody was authenticated, because the address is not part of `/v1`. */
export function callerOf(request: FastifyRequest): Caller | null {
  return callers.get(request) ?? null;
}

/** In a controller of `/v1`: the actor of the events that the call appends. */
export const Actor = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const caller = callerOf(context.switchToHttp().getRequest<FastifyRequest>());
  if (caller === null) throw new Error('a call without a caller: its controller lacks AdminTokenGuard');
  return caller.actor;
});
