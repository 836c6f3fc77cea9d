import type { FastifyReply, FastifyRequest } from 'fastify';
import { isLocalHost } from '../http/local-host.ts';

const NAME = 'angelia_session';

export function sessionCookieOf({ headers }: FastifyRequest): string | null {
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [name = '', value = ''] = pair.trim().split(/=(.*)/s, 2);
    if (name === NAME && value !== '') return value;
  }
  return null;
}

export function setSessionCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  secret: string,
  seconds: number,
): void {
  const secure = isOverLoopback(request) ? '' : '; Secure';
  reply.header(
    'set-cookie',
    `${NAME}=${secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${seconds}${secure}`,
  );
}

export function clearSessionCookie(request: FastifyRequest, reply: FastifyReply): void {
  setSessionCookie(request, reply, '', 0);
}

/**
 * Not every browser keeps a `Secure` cookie of http://localhost. A proxy with TLS may call us by a loopback name: then the
 * page's own origin, or the proxy if it is trusted, says https.
 */
function isOverLoopback({ host, headers, protocol }: FastifyRequest): boolean {
  return isLocalHost(host) && protocol === 'http' && headers.origin?.startsWith('https:') !== true;
}
