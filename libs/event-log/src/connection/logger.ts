/** The part of pino that this package uses. */
export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const silent: Logger = { info: () => {}, warn: () => {}, error: () => {} };
