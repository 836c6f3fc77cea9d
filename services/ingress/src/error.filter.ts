import { ENVIRONMENT, type Environment, LOGGER, type Logger } from '@angelia/service-kit';
import { type ArgumentsHost, Catch, type ExceptionFilter, Inject, NotFoundException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { answerError } from './answer-error.ts';
import { carriesToken, digest, tokenWanted } from './api/admin-token.guard.ts';

/** Every error of a controller, and every address that is not there, in the one form of the public interface. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly adminToken: Buffer | null;

  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(ENVIRONMENT) environment: Environment,
  ) {
    this.adminToken = environment.adminToken === undefined ? null : digest(environment.adminToken);
  }

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const { url, headers } = http.getRequest<FastifyRequest>();
    // What there is under /v1 is told to nobody without the token; no guard stands before an address that is not there.
    const hidden =
      error instanceof NotFoundException && url.startsWith('/v1/') && !carriesToken(headers, this.adminToken);
    const answer = answerError(http.getResponse<FastifyReply>(), hidden ? tokenWanted() : error);
    if (answer.unexpected) this.logger.error({ err: error, url }, 'a request failed');
  }
}
