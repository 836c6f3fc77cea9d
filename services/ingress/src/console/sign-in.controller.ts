import type { CurrentConfig } from '@angelia/config';
import type { EventLog } from '@angelia/event-log';
import { CONFIG, EVENT_LOG, metrics } from '@angelia/service-kit';
import { Body, Controller, Delete, Get, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AdminToken, tooManyGuesses } from '../access/admin-token.ts';
import type { GuessVerdict } from '../access/token-guesses.ts';
import { parseBody } from '../http/parse-request.ts';
import { CodedRefusal, Refusal } from '../http/refusal.ts';
import { type ConsoleSessionJson, signIn } from './console.operations.ts';
import { ConsoleCookie, type SignedIn, signedOut } from './console-cookie.ts';
import { csrfTokenOf, digestOf } from './console-secrets.ts';
import { ConsoleSessions } from './console-sessions.ts';
import { crossSiteRefusal, insecurePageRefusal } from './same-origin.ts';
import { clearSessionCookie, setSessionCookie } from './session-cookie.ts';

/** A working day: a browser that was left open is signed out by the next morning. */
const SESSION_SECONDS = 12 * 60 * 60;
/** As events name whoever uses the console. There is one admin token, so there is one name. */
export const CONSOLE_ACTOR = 'console';

/** Signing in and out. Not under /v1, because a browser that is not signed in must reach it. */
@Controller('/console/session')
export class SignInController {
  constructor(
    @Inject(CONFIG) private readonly config: CurrentConfig,
    @Inject(EVENT_LOG) private readonly log: Pick<EventLog, 'consoleAccess'>,
    @Inject(AdminToken) private readonly adminToken: AdminToken,
    @Inject(ConsoleCookie) private readonly cookie: ConsoleCookie,
    @Inject(ConsoleSessions) private readonly sessions: ConsoleSessions,
  ) {}

  @Post()
  @HttpCode(200)
  async signIn(
    @Body() body: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ConsoleSessionJson> {
    try {
      this.#refuseOtherPages(request);
      const { code, token } = parseBody(signIn, body);
      const opened =
        code === undefined
          ? await this.#byToken(token ?? '', request.ip)
          : await this.#byCode(code, request.ip);
      setSessionCookie(request, reply, opened.secret, SESSION_SECONDS);
      metrics.consoleSignIns.add({ outcome: 'signed_in' });
      // Its address is known from now on: a flood of wrong cookies from there does not lock this browser out.
      this.cookie.judge('session', opened.secret, request.ip);
      return sessionJson(reply, { ...opened, csrfToken: csrfTokenOf(opened.secret) });
    } catch (error) {
      if (error instanceof Refusal)
        metrics.consoleSignIns.add({ outcome: outcomes[error.code] ?? 'malformed' });
      throw error;
    }
  }

  @Get()
  async show(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ConsoleSessionJson> {
    return sessionJson(reply, await this.#signedIn(request));
  }

  @Delete()
  @HttpCode(204)
  async signOut(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    const { digest } = await this.#signedIn(request);
    await this.sessions.revoke(digest);
    clearSessionCookie(request, reply);
  }

  /** A foreign page must not sign this browser in: its owner would act in a session that somebody else watches. */
  #refuseOtherPages(request: FastifyRequest): void {
    const refusal = crossSiteRefusal(request, this.config.current.public_url) ?? insecurePageRefusal(request);
    if (refusal !== null) throw refusal;
    // A form of a foreign page can send other types, but not this one.
    if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
      throw new CodedRefusal(415, 'not_json', 'send the sign-in with content-type application/json');
    }
  }

  async #byToken(token: string, ip: string) {
    refuseUnlessRight(
      this.adminToken.judge(token, ip),
      'the admin token is wrong: use the one that ingress has',
    );
    const secret = this.cookie.secrets.make('session');
    const session = await this.log.consoleAccess.open(digestOf(secret), CONSOLE_ACTOR, SESSION_SECONDS);
    return { ...session, secret };
  }

  async #byCode(code: string, ip: string) {
    refuseUnlessRight(
      this.cookie.judge('link', code, ip),
      'this link is not complete, or is of another server: open the whole link as it was printed',
    );
    const secret = this.cookie.secrets.make('session');
    const taken = await this.log.consoleAccess.takeLink(digestOf(code), digestOf(secret), SESSION_SECONDS);
    if (taken !== null) return { ...taken, secret };
    throw new CodedRefusal(
      401,
      'link_expired',
      'this link was used already, or is older than ten minutes: get a new one with `angelia console`, or sign in with the admin token',
    );
  }

  async #signedIn(request: FastifyRequest): Promise<SignedIn> {
    const found = (await this.cookie.signedIn(request)) ?? signedOut();
    if (found instanceof Refusal) throw found;
    return found;
  }
}

function refuseUnlessRight(verdict: GuessVerdict, wrong: string): void {
  if (verdict === 'right') return;
  throw verdict === 'wrong' ? new CodedRefusal(401, 'unauthorized', wrong) : tooManyGuesses('wrong sign-ins');
}

const outcomes: Readonly<
  Record<string, 'wrong' | 'link_expired' | 'slowed_down' | 'cross_site' | 'needs_https'>
> = {
  unauthorized: 'wrong',
  link_expired: 'link_expired',
  too_many_guesses: 'slowed_down',
  cross_site: 'cross_site',
  needs_https: 'needs_https',
};

function sessionJson(
  reply: FastifyReply,
  { actor, csrfToken, expiresAt }: Pick<SignedIn, 'actor' | 'csrfToken' | 'expiresAt'>,
): ConsoleSessionJson {
  reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
  return { actor, csrf_token: csrfToken, expires_at: new Date(expiresAt).toISOString() };
}
