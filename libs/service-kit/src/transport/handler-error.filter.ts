import { Catch, type RpcExceptionFilter } from '@nestjs/common';
import { type Observable, throwError } from 'rxjs';

/**
 * Passes the error of a handler on unchanged. Nest's own filter would replace it by "Internal server error", and the verdict
 * (`retryable`) and the reason of a dead letter would be lost.
 */
@Catch()
export class HandlerErrorFilter implements RpcExceptionFilter<unknown> {
  catch(error: unknown): Observable<never> {
    return throwError(() => error);
  }
}
