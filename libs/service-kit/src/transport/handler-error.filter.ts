import { Catch, type RpcExceptionFilter } from '@nestjs/common';
import { type Observable, throwError } from 'rxjs';

/**
 * Lets the error of a hint's handler through as it is. Nest's own filter replaces it by "Internal server error":
 * the verdict (`retryable`) and the reason of a dead letter would be gone.
 */
@Catch()
export class HandlerErrorFilter implements RpcExceptionFilter<unknown> {
  catch(error: unknown): Observable<never> {
    return throwError(() => error);
  }
}
