import { decide, type RefusalCode, type SessionCommand } from '@angelia/session';
import type { ExecuteOptions, Loaded, Sessions } from '@angelia/sessions';

/** `loaded` is the session as it is now. */
type CommandResult =
  | { readonly kind: 'appended'; readonly loaded: Loaded }
  /** The command changes nothing: it was already recorded. */
  | { readonly kind: 'unchanged'; readonly loaded: Loaded }
  | { readonly kind: 'refused'; readonly loaded: Loaded; readonly code: RefusalCode };

/** Runs one command on a session that is already read. If others append meanwhile, it decides again on what they appended. */
export async function appendCommand(
  sessions: Sessions,
  loaded: Loaded,
  command: SessionCommand,
  options: Pick<ExecuteOptions, 'pastUnreadable' | 'alongside'> = {},
): Promise<CommandResult> {
  const executed = await sessions.execute(loaded.id, ({ state }) => decide(state, command), {
    loaded,
    ...options,
  });
  switch (executed.status) {
    case 'appended':
      return { kind: 'appended', loaded: executed.loaded };
    case 'nothing':
      return { kind: 'unchanged', loaded: executed.loaded };
    case 'refused':
      return { kind: 'refused', loaded: executed.loaded, code: executed.code };
    default:
      // Only an append with a key or a lease has these results.
      throw new Error(`${loaded.id}: unexpected result ${executed.status} of ${command.type}`);
  }
}
