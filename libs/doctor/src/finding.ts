export type FindingState = 'ok' | 'warning' | 'fault' | 'skipped';

/** The result of one check. With a fault, Angelia cannot do its job or keep an invariant. A warning may become a fault. */
export interface Finding {
  /** Stable, for scripts: `postgres.fsync`, `target.telegram`. */
  readonly check: string;
  readonly state: FindingState;
  readonly what: string;
  /** What to do. Faults and warnings have it. */
  readonly todo?: string;
}

export const ok = (check: string, what: string): Finding => ({ check, state: 'ok', what });
export const skipped = (check: string, what: string): Finding => ({ check, state: 'skipped', what });
export const warning = (check: string, what: string, todo: string): Finding => ({
  check,
  state: 'warning',
  what,
  todo,
});
export const fault = (check: string, what: string, todo: string): Finding => ({
  check,
  state: 'fault',
  what,
  todo,
});

/** Whatever was thrown, in one line. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? error.cause : undefined;
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  // The message of fetch is only `fetch failed`; the reason is in its cause.
  const text =
    code !== undefined && !error.message.includes(code) ? `${error.message}: ${code}` : error.message;
  return text.replace(/\s+/g, ' ');
}
