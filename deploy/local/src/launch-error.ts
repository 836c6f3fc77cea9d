/**
 * Why the local stack cannot run, if the user can fix it: a taken port, a missing program, a broken config. The message is
 * the one line to show, and says what to do. A retry does not help before that.
 */
export class LaunchError extends Error {
  readonly code: LaunchErrorCode;

  constructor(code: LaunchErrorCode, message: string) {
    super(message);
    this.name = 'LaunchError';
    this.code = code;
  }
}

type LaunchErrorCode =
  | 'ALREADY_RUNNING'
  | 'BAD_ENVIRONMENT'
  | 'BROWSER_MISSING'
  | 'CONFIG_REFUSED'
  | 'MIGRATION_FAILED'
  | 'NATS_FAILED'
  | 'NATS_MISSING'
  | 'NOT_READY'
  | 'PORT_TAKEN'
  | 'POSTGRES_FAILED'
  | 'POSTGRES_MISSING'
  | 'STOPPED';
