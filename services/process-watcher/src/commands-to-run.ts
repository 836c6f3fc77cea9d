import { type SessionState, WATCHER_TOOLS } from '@angelia/session';

/** Ids of the tool calls that were begun, are the watcher's to carry out, and have no result. */
export function commandsToRun(state: SessionState): string[] {
  if (state.ended !== null) return [];
  return state.turns.flatMap((turn) =>
    turn.calls
      .filter((call) => call.status === 'started' && WATCHER_TOOLS.includes(call.tool))
      .map((call) => call.id),
  );
}
