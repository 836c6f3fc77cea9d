import type { LoggedEvent } from './history.ts';

export interface Violation {
  /** Its name in DESIGN.md. */
  readonly invariant: string;
  readonly session: string | null;
  readonly what: string;
}

export type Violations = Iterable<Violation>;

export function violation(invariant: string, session: string | null, what: string): Violation {
  return { invariant, session, what };
}

export function eventsOf(events: readonly LoggedEvent[], type: string): LoggedEvent[] {
  return events.filter((event) => event.type === type);
}
