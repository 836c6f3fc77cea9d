import type { OpenApproval, SessionRef } from '../api/types.ts';
import { type Context, defineCommand, type Option } from '../command-line/command.ts';
import { type Column, table } from '../terminal/table.ts';
import { agoText } from '../terminal/time.ts';
import { fetchPage, noteMore, pagingOptions } from './paging.ts';

const EXAMPLE = '01a1e281-20d9-7563-b8f1-427765d52c50.1';
const approvalArgument = { name: 'approval', summary: 'its id, as `angelia approvals` shows it' } as const;
const reasonOption = {
  reason: { value: 'text', summary: 'why' },
} as const satisfies Readonly<Record<string, Option>>;

export const approvalsList = defineCommand({
  name: 'approvals list',
  isDefault: true,
  summary: 'list tool calls that wait for an approval, oldest first',
  description:
    'Decide with `angelia approve` or `angelia deny`. With --json it shows each with all of its arguments.',
  options: {
    route: { value: 'name', names: 'route', summary: 'only of sessions of this route' },
    ...pagingOptions,
  },
  examples: [
    { command: 'angelia approvals', does: 'what waits for an approval?' },
    {
      command: `angelia approvals --json | jq -r '.items[] | [.id, .arguments] | @tsv'`,
      does: 'for a script',
    },
  ],
  calls: ['get /v1/approvals'],
  run: async (context) => {
    const { out, given } = context;
    const route = given.text('route');
    const page = await fetchPage<OpenApproval>(context, '/v1/approvals', route === null ? {} : { route });
    out.answer(page, () => approvalTable(page.items, context));
    noteMore(context, page, 'open requests');
    return undefined;
  },
});

export const approve = defineCommand({
  name: 'approve',
  summary: 'let a tool call run, exactly as it is',
  description: 'Exit code 6 means that somebody decided before, or that the request has expired.',
  arguments: [approvalArgument],
  options: {
    session: { summary: 'also later calls of this session that the same rule asks about' },
    ...reasonOption,
  },
  examples: [
    { command: `angelia approve ${EXAMPLE}`, does: 'this call, once' },
    { command: `angelia approve ${EXAMPLE} --session`, does: 'and do not ask again in this session' },
  ],
  calls: ['post /v1/approvals/{id}'],
  run: (context) =>
    decide(context, { decision: 'approve', scope: context.given.switch('session') ? 'session' : 'once' }),
});

export const deny = defineCommand({
  name: 'deny',
  summary: 'refuse a tool call; the agent reads the reason',
  description: 'Exit code 6 means that somebody decided before, or that the request has expired.',
  arguments: [approvalArgument],
  options: reasonOption,
  examples: [
    { command: `angelia deny ${EXAMPLE} --reason "use the staging cluster"`, does: 'say no, and why' },
  ],
  calls: ['post /v1/approvals/{id}'],
  run: (context) => decide(context, { decision: 'deny' }),
});

async function decide(
  { api, given, out }: Context,
  decision: { readonly decision: 'approve' | 'deny'; readonly scope?: string },
): Promise<undefined> {
  const id = given.argument('approval') ?? '';
  const reason = given.text('reason');
  const taken = await api().send<SessionRef>('POST', `/v1/approvals/${encodeURIComponent(id)}`, {
    body: { ...decision, ...(reason === null ? {} : { reason }) },
  });
  out.item(taken, () => `${id} is ${decision.decision === 'approve' ? 'approved' : 'denied'}`);
  return undefined;
}

function approvalTable(items: readonly OpenApproval[], { out, runtime }: Context): string {
  if (items.length === 0) return '';
  const columns: Column<OpenApproval>[] = [
    { head: 'APPROVAL', text: ({ id }) => id },
    { head: 'ROUTE', text: ({ route }) => route, dropped: 2 },
    { head: 'ASKED', text: ({ asked_at: at }) => agoText(at, runtime.now()), tone: () => 'dim', dropped: 3 },
    { head: 'TOOL', text: ({ tool }) => tool },
    { head: 'CALL', text: callText, flexible: true, dropped: 1 },
  ];
  return table(items, columns, out);
}

/** In one line. A line break begins another command, so it is not shown as a space. */
function callText({ shown: { command, others } }: OpenApproval): string {
  return [command, others]
    .filter((text) => text !== null)
    .join(' ')
    .replaceAll('\n', '\\u{a}');
}
