import { pause } from '@angelia/waiting';
import type { Page, Session } from '../api/types.ts';
import { type Context, defineCommand } from '../command-line/command.ts';
import { toneOf } from '../terminal/style.ts';
import { type Column, table } from '../terminal/table.ts';
import { agoText, durationText } from '../terminal/time.ts';
import { fetchPage, noteMore, pagingOptions } from './paging.ts';
import { filterOf, sessionFilters } from './session-filters.ts';

/** The list is a moment behind the log anyway, and a person reads it. */
const WATCH_MS = 2_000;
/** To the upper left corner, then clear what is below: no flicker, unlike clearing first. */
const CLEAR_ALL = '\u001b[2J';
const HOME = '\u001b[H';
const CLEAR_BELOW = '\u001b[J';
const CLEAR_LINE = '\u001b[K';

export const sessionsList = defineCommand({
  name: 'sessions list',
  isDefault: true,
  summary: 'list sessions, newest first',
  description:
    'The list is a moment behind the log. On a narrow terminal it leaves out columns; `-o wide` shows all of them.',
  options: {
    ...sessionFilters,
    sort: {
      value: 'order',
      values: ['newest', 'oldest', 'active', 'longest', 'tokens'],
      summary:
        '`active`, `longest` and `tokens` show one page and need a filter that matches few sessions (newest)',
    },
    count: { summary: 'print only how many there are' },
    ...pagingOptions,
    watch: { short: 'w', summary: 'keep running and show changes; with --json, one line per change' },
  },
  examples: [
    { command: 'angelia sessions', does: 'the last 50' },
    { command: 'angelia sessions --route github-pr --status running', does: 'running sessions of a route' },
    { command: 'angelia sessions --outcome failed --since 2h', does: 'what failed in the last two hours' },
    { command: 'angelia sessions --failure timeout --since 7d --count', does: 'how many' },
    {
      command: 'angelia sessions list --since 1d --sort tokens -o wide',
      does: 'what used the most tokens today',
    },
    { command: 'angelia sessions --watch', does: 'keep the list on the screen' },
    { command: "angelia sessions --all --json | jq -r '.items[].id'", does: 'every id, for a script' },
  ],
  calls: ['get /v1/sessions'],
  run: async (context) => {
    const { given, out } = context;
    if (given.switch('watch')) return watch(context);
    if (given.switch('count')) return count(context);
    const page = await fetchPage<Session>(context, '/v1/sessions', queryOf(context));
    out.answer(page, () => sessionTable(page.items, context));
    noteMore(context, page, 'such sessions');
    return undefined;
  },
});

function queryOf({ given }: Context) {
  return { ...filterOf(given, Object.keys(sessionFilters)), sort: given.text('sort') };
}

async function count(context: Context): Promise<undefined> {
  const { api, given, out } = context;
  const query = { ...filterOf(given, Object.keys(sessionFilters)), count: 'true', limit: 1 };
  const { count: found, count_exact: exact } = await api().get<{ count: number; count_exact: boolean }>(
    '/v1/sessions',
    query,
  );
  out.answer({ count: found, count_exact: exact }, () => (exact ? String(found) : `at least ${found}`));
  return undefined;
}

async function watch(context: Context): Promise<undefined> {
  const { out, runtime } = context;
  const seen = new Map<string, number>();
  if (out.isTerminal) out.raw(CLEAR_ALL);
  for (;;) {
    const page = await fetchPage<Session>(context, '/v1/sessions', queryOf(context));
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
    { head: 'ROUTE', text: ({ route }) => route, dropped: 2 },
    {
      head: 'STARTED',
      text: ({ created_at: at }) => agoText(at, runtime.now()),
      tone: () => 'dim',
      dropped: 3,
    },
    { head: 'DURATION', text: (session) => durationOf(session, runtime.now()), right: true, dropped: 4 },
    { head: 'DELIVERED', text: deliveriesText, tone: deliveriesTone, dropped: 5 },
    { head: 'AGENT', text: ({ agent }) => agent, dropped: 6 },
    { head: 'MODEL', text: ({ model }) => model ?? '-', dropped: 8 },
    { head: 'TOKENS', text: tokensText, right: true, dropped: 7 },
    { head: 'FAILURE', text: ({ failure }) => failure?.code ?? '-', wide: true },
    { head: 'DELIVERY ID', text: ({ delivery_id: id }) => id, wide: true },
    { head: 'TITLE', text: ({ title }) => title, flexible: true, dropped: 1 },
  ];
  return table(items, columns, out);
}

/** `running`; `succeeded`; `waiting (model)` */
function statusText({ status, outcome, waiting_for: waitingFor }: Session): string {
  if (outcome !== null) return outcome;
  return waitingFor == null ? status : `${status} (${waitingFor})`;
}

/** From its creation to its end, or until now. */
function durationOf({ created_at: created, ended_at: ended }: Session, now: number): string {
  return durationText((ended === null ? now : Date.parse(ended)) - Date.parse(created));
}

function tokensText({ usage }: Session): string {
  return String(usage.input_tokens + usage.output_tokens);
}

/** `2`; `1 of 2` while one is pending; `1, 1 dead` */
export function deliveriesText({ deliveries: { pending, delivered, dead } }: Session): string {
  const sent = pending === 0 ? String(delivered) : `${delivered} of ${delivered + pending}`;
  return dead === 0 ? sent : `${sent}, ${dead} dead`;
}

function deliveriesTone({ deliveries }: Session) {
  return deliveries.dead > 0 ? ('bad' as const) : ('plain' as const);
}
