import { LOGGER, type Logger } from '@angelia/service-kit';
import { type ArgumentsHost, Catch, type ExceptionFilter, Inject } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { answerError } from './answer-error.ts';

/** Answers every error of a controller in the form of the public interface. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(@Inject(LOGGER) private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const answer = answerError(http.getResponse<FastifyReply>(), error);
    if (answer.unexpected) {
      this.logger.error({ err: error, url: http.getRequest<FastifyRequest>().url }, 'request failed');
    }
  }
}
