/**
 * A reason why the local stack cannot run that the user can mend: a taken port, a missing program, a broken config.
 * The message is the one line to show, and says what to do. No retry helps before that.
 */
export class LaunchError extends Error {
  readonly code: LaunchErrorCode;

  constructor(code: LaunchErrorCode, message: string) {
    super(message);
    this.name = 'LaunchError';
    this.code = code;
  }
}

export type LaunchErrorCode =
  | 'ALREADY_RUNNING'
  | 'BAD_ENVIRONMENT'
  | 'CONFIG_REFUSED'
  | 'MIGRATION_FAILED'
  | 'NATS_FAILED'
  | 'NATS_MISSING'
  | 'NOT_READY'
  | 'PORT_TAKEN'
  | 'POSTGRES_FAILED'
  | 'POSTGRES_MISSING'
  | 'STOPPED';
