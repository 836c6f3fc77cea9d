import type { LoggedEvent } from './history.ts';

export interface Violation {
  /** As DESIGN.md names it. */
  readonly invariant: string;
  readonly session: string | null;
  readonly what: string;
}

export type Found = Iterable<Violation>;

export function fault(invariant: string, session: string | null, what: string): Violation {
  return { invariant, session, what };
}

export function of(events: readonly LoggedEvent[], type: string): LoggedEvent[] {
  return events.filter((event) => event.type === type);
}
