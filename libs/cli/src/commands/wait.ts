import type { Api } from '../api/client.ts';
import { followSession } from '../api/follow-session.ts';
import type { Session } from '../api/types.ts';
import type { Context, Option } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { eventLine } from '../timeline/event-line.ts';

export const waitOptions = {
  wait: { summary: 'follow the session until it is settled; exit code 1 unless it succeeded' },
  timeout: { value: 'time', summary: 'with --wait: the longest wait (90s, 5m, 2h)' },
} as const satisfies Readonly<Record<string, Option>>;

/**
 * Follows a session until it is settled. The exit code says how it went. With `--json` each event is a line, and the last
 * line is the session.
 */
export async function waitForSession(
  { out, given, runtime }: Context,
  client: Api,
  id: string,
): Promise<number> {
  const limit = given.duration('timeout');
  const timeout = limit === null ? null : AbortSignal.timeout(limit);
  const signal = timeout === null ? runtime.signal : AbortSignal.any([runtime.signal, timeout]);
  try {
    for await (const event of followSession(client, id, { signal, forTerminal: !out.json })) {
      out.item(event, () => eventLine(event, out));
    }
  } catch (error) {
    if (timeout?.aborted !== true || runtime.signal.aborted) throw error;
    throw new CliError(
      EXIT.timedOut,
      `session ${id} is not settled within ${given.text('timeout')}. It goes on`,
      `angelia logs --follow ${id}`,
    );
  }
  const session = await client.get<Session>(`/v1/sessions/${encodeURIComponent(id)}`);
  out.item(session, () => '');
  if (session.outcome === 'succeeded' && session.deliveries.dead === 0) return EXIT.ok;
  const why =
    session.outcome === 'succeeded' ? `${session.deliveries.dead} deliveries are dead` : session.outcome;
  out.note(`session ${id}: ${why} (angelia status ${id})`);
  return EXIT.failed;
}
