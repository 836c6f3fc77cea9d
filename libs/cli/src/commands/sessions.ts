import { pause } from '@angelia/waiting';
import type { Page, Session } from '../api/types.ts';
import { type Context, defineCommand } from '../command-line/command.ts';
import { toneOf } from '../terminal/style.ts';
import { type Column, table } from '../terminal/table.ts';
import { agoText } from '../terminal/time.ts';
import { fetchPage, noteMore, pagingOptions } from './paging.ts';

/** The list is a moment behind the log anyway, and a person reads it. */
const WATCH_MS = 2_000;
/** To the upper left corner, then clear what is below: no flicker, unlike clearing first. */
const CLEAR_ALL = '\u001b[2J';
const HOME = '\u001b[H';
const CLEAR_BELOW = '\u001b[J';
const CLEAR_LINE = '\u001b[K';

export const sessions = defineCommand({
  name: 'sessions',
  summary: 'list sessions, newest first',
  options: {
    route: { value: 'name', summary: 'only sessions of this route' },
    status: {
      value: 'status',
      values: ['queued', 'running', 'waiting', 'ended'],
      summary: 'only sessions with this status',
    },
    ...pagingOptions,
    watch: { short: 'w', summary: 'keep running and show changes; with --json, one line per change' },
  },
  examples: [
    { command: 'angelia sessions', does: 'the last 50' },
    { command: 'angelia sessions --route github-pr --status running', does: 'running sessions of a route' },
    { command: 'angelia sessions --watch', does: 'keep the list on the screen' },
    { command: "angelia sessions --all --json | jq -r '.items[].id'", does: 'every id, for a script' },
  ],
  calls: ['get /v1/sessions'],
  run: async (context) => {
    const { given, out } = context;
    if (given.switch('watch')) return watch(context);
    const page = await fetchPage<Session>(context, '/v1/sessions', filterOf(context));
    out.answer(page, () => sessionTable(page.items, context));
    noteMore(context, page);
    return undefined;
  },
});

function filterOf({ given }: Context) {
  return { route: given.text('route'), status: given.text('status') };
}

async function watch(context: Context): Promise<undefined> {
  const { out, runtime } = context;
  const seen = new Map<string, number>();
  if (out.isTerminal) out.raw(CLEAR_ALL);
  for (;;) {
    const page = await fetchPage<Session>(context, '/v1/sessions', filterOf(context));
    if (!out.json && out.isTerminal) {
      // More rows would scroll the screen. One line is for the head, one for the cursor.
      const fitting = page.items.slice(0, Math.max(1, out.height - 2));
      const text = fitting.length === 0 ? 'no sessions' : sessionTable(fitting, context);
      out.raw(`${HOME}${text.replaceAll('\n', `${CLEAR_LINE}\n`)}${CLEAR_LINE}\n${CLEAR_BELOW}`);
    } else {
      // Oldest first, in the order in which they started.
      for (const session of [...page.items].reverse()) {
        if (seen.get(session.id) === session.version) continue;
        out.item(session, () => sessionLine(session));
      }
      seen.clear();
      for (const { id, version } of page.items) seen.set(id, version);
    }
    await pause(WATCH_MS, runtime.signal);
  }
}

function sessionLine(session: Session): string {
  const { id, route, title } = session;
  return `${id}  ${statusText(session).padEnd('succeeded'.length)}  ${route}  ${title}`;
}

export function sessionTable(items: Page<Session>['items'], { out, runtime }: Context): string {
  if (items.length === 0) return '';
  const columns: Column<Session>[] = [
    { head: 'SESSION', text: ({ id }) => id },
    {
      head: 'STATUS',
      text: statusText,
      tone: ({ status, outcome }) => toneOf(outcome ?? status),
    },
    { head: 'ROUTE', text: ({ route }) => route },
    { head: 'STARTED', text: ({ created_at: at }) => agoText(at, runtime.now()), tone: () => 'dim' },
    { head: 'DELIVERED', text: deliveriesText, tone: deliveriesTone },
    { head: 'TITLE', text: ({ title }) => title, flexible: true },
  ];
  return table(items, columns, out);
}

/** `running`; `succeeded`; `waiting (model)` */
function statusText({ status, outcome, waiting_for: waitingFor }: Session): string {
  if (outcome !== null) return outcome;
  return waitingFor == null ? status : `${status} (${waitingFor})`;
}

/** `2`; `1 of 2` while one is pending; `1, 1 dead` */
export function deliveriesText({ deliveries: { pending, delivered, dead } }: Session): string {
  const sent = pending === 0 ? String(delivered) : `${delivered} of ${delivered + pending}`;
  return dead === 0 ? sent : `${sent}, ${dead} dead`;
}

function deliveriesTone({ deliveries }: Session) {
  return deliveries.dead > 0 ? ('bad' as const) : ('plain' as const);
}
