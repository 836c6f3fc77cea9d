import { isRetryable } from '@angelia/contracts/errors';
import { pause } from '@angelia/waiting';
import type { Api } from '../api/client.ts';
import { followSession } from '../api/follow-session.ts';
import type { Page, Session } from '../api/types.ts';
import { type Context, defineCommand } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { eventLine } from '../timeline/event-line.ts';
import { showUnstartedWebhooks } from './tail-webhooks.ts';

/** How often it looks for new sessions. The events of a session arrive live. */
const LOOK_MS = 1_000;
/** Each session takes a stream. Ingress has 200 streams for all clients. */
const MOST_FOLLOWED = 50;
const PAGE = 100;
/** About a minute. A restart of the server takes seconds. */
const MOST_FAILURES = 60;

export const tail = defineCommand({
  name: 'tail',
  summary: 'show the events of all sessions, live',
  description:
    'It shows new sessions from their first event, and sessions that are already at work from now on. It follows at most ' +
    `${MOST_FOLLOWED} at once. Webhooks that started no session are shown too, with the reason (\`webhook.refused\`, ` +
    '`webhook.ignored`). With --json, each line is an event with its `session_id`.',
  options: {
    route: { value: 'name', summary: 'only sessions of this route' },
    type: {
      value: 'type',
      many: true,
      summary: 'only events of this type, or with this prefix: `delivery.`',
    },
  },
  examples: [
    { command: 'angelia tail', does: 'everything, until Ctrl-C' },
    { command: 'angelia tail --route github-pr --type session.', does: 'statuses and answers of one route' },
    {
      command: 'angelia tail --json | jq -c "select(.type == \\"delivery.dead\\")"',
      does: 'only deliveries that died',
    },
  ],
  calls: ['get /v1/sessions', 'get /v1/sessions/{id}/stream', 'get /v1/webhooks'],
  run: async (context) => {
    const { api, given, out, runtime } = context;
    const client = api();
    const route = given.text('route');
    const following = new Map<string, Promise<void>>();
    /** The last version of each session that was shown. */
    const shown = new Map<string, number>();
    let notFollowed = 0;
    let broken: unknown = null;

    const follow = (session: Session, after: number): void => {
      if (following.has(session.id)) return;
      if (following.size >= MOST_FOLLOWED) {
        if (notFollowed === 0) out.note(`more than ${MOST_FOLLOWED} sessions are active: some are not shown`);
        notFollowed += 1;
        return;
      }
      const ended = showAll(context, client, session, after, shown)
        .catch((error: unknown) => {
          // The session was pruned or erased: there is nothing more to show.
          if (!(error instanceof CliError && error.exitCode === EXIT.notFound)) broken ??= error;
        })
        .finally(() => following.delete(session.id));
      following.set(session.id, ended);
    };

    for (const session of await activeSessions(client, route)) follow(session, session.version);
    for (const { id, version } of (await newest(client, route)).items) shown.set(id, version);
    out.note('waiting for events (press Ctrl-C to stop)');
    void showUnstartedWebhooks(context, client).catch((error: unknown) => {
      broken ??= error;
    });
    for (let failures = 0; broken === null; ) {
      await pause(LOOK_MS, runtime.signal);
      try {
        const { items } = await newest(client, route);
        for (const session of [...items].reverse()) {
          const seen = shown.get(session.id) ?? 0;
          if (session.version > seen) follow(session, seen);
        }
        forgetOld(shown, items, following);
        failures = 0;
      } catch (error) {
        failures += 1;
        if (!(error instanceof CliError) || !isRetryable(error) || failures > MOST_FAILURES) throw error;
        if (failures === 1) out.note(`${error.message}; trying again`);
      }
    }
    throw broken;
  },
});

async function showAll(
  { out, given, runtime }: Context,
  client: Api,
  { id }: Session,
  after: number,
  shown: Map<string, number>,
): Promise<void> {
  const types = given.texts('type');
  shown.set(id, after);
  for await (const event of followSession(client, id, {
    after,
    signal: runtime.signal,
    forTerminal: !out.json,
  })) {
    shown.set(id, event.version);
    if (types.length > 0 && !types.some((type) => event.type.startsWith(type))) continue;
    out.item({ session_id: id, ...event }, () => eventLine(event, { ...out, session: id }));
  }
}

function newest(client: Api, route: string | null): Promise<Page<Session>> {
  return client.get('/v1/sessions', { route, limit: PAGE });
}

/** Includes sessions that started long ago and wait. */
async function activeSessions(client: Api, route: string | null): Promise<Session[]> {
  const pages = await Promise.all(
    ['running', 'queued', 'waiting'].map((status) =>
      client.get<Page<Session>>('/v1/sessions', { route, status, limit: PAGE }),
    ),
  );
  return pages.flatMap(({ items }) => items);
}

/** Memory does not grow with sessions served (invariant bounded). */
function forgetOld(
  shown: Map<string, number>,
  items: readonly Session[],
  following: ReadonlyMap<string, unknown>,
): void {
  const current = new Set(items.map(({ id }) => id));
  for (const id of shown.keys()) if (!current.has(id) && !following.has(id)) shown.delete(id);
}
