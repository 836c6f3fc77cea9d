import { decide, type SessionCommand } from '@angelia/session';
import type { ExecuteOptions, Loaded, Sessions } from '@angelia/sessions';

export interface Decided {
  /** The session as it is now. */
  readonly loaded: Loaded;
  readonly appended: boolean;
  /** Why the domain said no. */
  readonly refused: string | null;
}

/** Puts one command to a session that was read already, deciding again on what others append meanwhile. */
export async function decideDelivery(
  sessions: Sessions,
  loaded: Loaded,
  command: SessionCommand,
  options: Pick<ExecuteOptions, 'pastUnreadable'> = {},
): Promise<Decided> {
  const executed = await sessions.execute(loaded.id, ({ state }) => decide(state, command), {
    loaded,
    ...options,
  });
  switch (executed.status) {
    case 'appended':
      return { loaded: executed.loaded, appended: true, refused: null };
    case 'nothing':
      return { loaded: executed.loaded, appended: false, refused: null };
    case 'refused':
      return { loaded: executed.loaded, appended: false, refused: executed.code };
    default:
      // Only an append with a key or a lease has these verdicts.
      throw new Error(`${loaded.id}: unexpected verdict ${executed.status} on ${command.type}`);
  }
}
