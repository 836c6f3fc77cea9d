import { pause } from '@angelia/waiting';
import type { Process, ProcessOutput } from '../api/types.ts';
import { defineCommand } from '../command-line/command.ts';
import { toneOf } from '../terminal/style.ts';
import { type Column, table } from '../terminal/table.ts';
import { agoText } from '../terminal/time.ts';
import { forEachNamed } from './for-each.ts';
import { fetchPage, noteMore, pagingOptions } from './paging.ts';

export const processesList = defineCommand({
  name: 'processes list',
  isDefault: true,
  summary: 'list background processes, most recently changed first',
  options: {
    session: { value: 'id', names: 'session', summary: 'only processes of this session' },
    status: {
      value: 'status',
      values: ['running', 'exited', 'lost'],
      summary: 'only processes with this status',
    },
    ...pagingOptions,
  },
  examples: [{ command: 'angelia processes --status running', does: 'what runs now' }],
  calls: ['get /v1/processes'],
  run: async (context) => {
    const { given, out, runtime } = context;
    const page = await fetchPage<Process>(context, '/v1/processes', {
      session: given.text('session'),
      status: given.text('status'),
    });
    const columns: Column<Process>[] = [
      { head: 'PROCESS', text: ({ id }) => id },
      { head: 'STATUS', text: statusOf, tone: ({ status }) => toneOf(status) },
      { head: 'SESSION', text: ({ session_id: id }) => id, dropped: 2 },
      { head: 'HOST', text: ({ host, pid }) => `${host}:${pid}`, dropped: 4 },
      {
        head: 'STARTED',
        text: ({ started_at: at }) => agoText(at, runtime.now()),
        tone: () => 'dim',
        dropped: 3,
      },
      { head: 'COMMAND', text: ({ command }) => command, flexible: true, dropped: 1 },
    ];
    out.answer(page, () => (page.items.length === 0 ? '' : table(page.items, columns, out)));
    noteMore(context, page, 'such processes');
    return undefined;
  },
});

function statusOf({ status, exit_code: code, signal }: Process): string {
  if (status !== 'exited') return status;
  return code === null ? `by ${signal}` : `exit ${code}`;
}

/** The API's limit for one call. */
const LARGEST_PART = 131_072;
const FOLLOW_MS = 1_000;

export const processesOutput = defineCommand({
  name: 'processes output',
  summary: 'show the kept output of a process',
  description: 'It shows stdout and stderr together: the last part, unless --offset says where to begin.',
  arguments: [{ name: 'process', names: 'process', summary: 'its id, or enough of its beginning' }],
  options: {
    offset: { value: 'byte', summary: 'start at this byte' },
    bytes: { value: 'n', summary: `how many, up to ${LARGEST_PART} (65536)` },
    follow: { short: 'f', summary: 'keep running and show new output until the process ends' },
  },
  examples: [
    { command: 'angelia processes output proc_8f3a', does: 'its last output' },
    { command: 'angelia processes output -f proc_8f3a', does: 'live' },
  ],
  calls: ['get /v1/processes/{id}/output'],
  run: async ({ api, given, out, runtime }) => {
    const client = api();
    const path = `/v1/processes/${encodeURIComponent(given.argument('process') ?? '')}/output`;
    const bytes = given.number('bytes', { from: 1, to: LARGEST_PART });
    let offset = given.number('offset', { from: 0, to: Number.MAX_SAFE_INTEGER });
    for (;;) {
      const part = await client.get<ProcessOutput>(path, { offset, bytes });
      if (out.json) out.item(part, () => '');
      else out.raw(part.output);
      if (!given.switch('follow')) return undefined;
      if (part.status !== 'running' && part.at_end) return undefined;
      offset = part.next_offset;
      if (part.at_end) await pause(FOLLOW_MS, runtime.signal);
    }
  },
});

export const processesKill = defineCommand({
  name: 'processes kill',
  summary: 'end background processes',
  description:
    'It ends the whole process group with SIGTERM, then SIGKILL. If the session asked to be notified, it hears of the end as of any other.',
  arguments: [
    { name: 'process', names: 'process', many: true, summary: 'ids, or enough of their beginning' },
  ],
  examples: [{ command: 'angelia processes kill proc_8f3a', does: 'end it' }],
  calls: ['post /v1/processes/{id}/kill'],
  run: async ({ api, given, out }) => {
    const client = api();
    return forEachNamed({ out }, given.argumentsFrom('process'), async (id) => {
      const taken = await client.send<{ id: string }>('POST', `/v1/processes/${encodeURIComponent(id)}/kill`);
      out.item(taken, () => `${taken.id} is being killed`);
    });
  },
});
