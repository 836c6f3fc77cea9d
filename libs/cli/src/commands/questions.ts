import type { OpenQuestion } from '../api/types.ts';
import { type Context, defineCommand } from '../command-line/command.ts';
import { type Column, table } from '../terminal/table.ts';
import { agoText } from '../terminal/time.ts';
import { fetchPage, noteMore, pagingOptions } from './paging.ts';

export const questionsList = defineCommand({
  name: 'questions list',
  isDefault: true,
  summary: 'list open questions of all sessions, oldest first',
  description: 'Answer one with `angelia answer <session>`, which also shows its choices.',
  options: {
    route: { value: 'name', names: 'route', summary: 'only questions of sessions of this route' },
    ...pagingOptions,
  },
  examples: [
    { command: 'angelia questions', does: 'who waits for an answer?' },
    {
      command: `angelia questions --json | jq -r '.items[] | [.session_id, .question] | @tsv'`,
      does: 'for a script',
    },
  ],
  calls: ['get /v1/questions'],
  run: async (context) => {
    const { out, given } = context;
    const route = given.text('route');
    const page = await fetchPage<OpenQuestion>(context, '/v1/questions', route === null ? {} : { route });
    out.answer(page, () => questionTable(page.items, context));
    noteMore(context, page, 'open questions');
    return undefined;
  },
});

function questionTable(items: readonly OpenQuestion[], { out, runtime }: Context): string {
  if (items.length === 0) return '';
  const columns: Column<OpenQuestion>[] = [
    { head: 'SESSION', text: ({ session_id: id }) => id },
    { head: 'ROUTE', text: ({ route }) => route, dropped: 2 },
    {
      head: 'ASKED',
      text: ({ asked_at: at }) => agoText(at, runtime.now()),
      tone: () => 'dim',
      dropped: 3,
    },
    { head: 'QUESTION', text: ({ question }) => question, flexible: true, dropped: 1 },
  ];
  return table(items, columns, out);
}
