import type { LoggerService } from '@nestjs/common';
import type { Logger } from '../logs/logger.ts';

/** Writes Nest's own lines to our log, one level lower: only a debugger needs what it says while it wires modules. */
export function nestLogger(logger: Logger): LoggerService {
  const fields = (rest: unknown[]): object => {
    const context = rest.at(-1);
    return typeof context === 'string' ? { nest: context } : { nest: true };
  };
  const text = (message: unknown): string => (typeof message === 'string' ? message : String(message));
  return {
    log: (message: unknown, ...rest: unknown[]) => logger.debug(fields(rest), text(message)),
    debug: (message: unknown, ...rest: unknown[]) => logger.trace(fields(rest), text(message)),
    verbose: (message: unknown, ...rest: unknown[]) => logger.trace(fields(rest), text(message)),
    warn: (message: unknown, ...rest: unknown[]) => logger.warn(fields(rest), text(message)),
    error: (message: unknown, ...rest: unknown[]) =>
      logger.error({ ...fields(rest), ...(message instanceof Error ? { err: message } : {}) }, text(message)),
    fatal: (message: unknown, ...rest: unknown[]) => logger.fatal(fields(rest), text(message)),
  };
}
