import type { RoutePreview, TestedWebhook } from '../api/types.ts';
import { type Context, defineCommand, type Option } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { readInput } from '../terminal/read-input.ts';
import { fields } from '../terminal/table.ts';

const routeArgument = { name: 'route', names: 'route', summary: 'name of the route' } as const;
const webhookOptions = {
  body: { value: 'path', file: true, summary: 'file with the JSON of the webhook; `-` reads stdin' },
  header: { value: 'name=value', many: true, summary: 'a header of the webhook: x-github-event=push' },
} as const satisfies Readonly<Record<string, Option>>;

export const routesPreview = defineCommand({
  name: 'routes preview',
  summary: 'show what a webhook would do at a route; nothing is stored',
  description:
    'It judges each filter by itself and renders the templates. Exit code 1 means that the webhook would start no session.',
  arguments: [routeArgument],
  options: webhookOptions,
  examples: [
    {
      command: 'angelia routes preview github-pr --body pr.json --header x-github-event=pull_request',
      does: 'why is it ignored, and what would the agent be told?',
    },
  ],
  calls: ['post /v1/routes/preview'],
  run: async (context) => {
    const { api, given, out } = context;
    const body = { name: given.argument('route') ?? '', ...(await webhookOf(context)) };
    const found = await api().send<RoutePreview>('POST', '/v1/routes/preview', { body });
    out.answer(found, () =>
      [
        fields(
          [
            ['outcome', found.reason === null ? found.outcome : `${found.outcome}: ${found.reason}`],
            ['event', found.event ?? '-'],
            ['delivery id', found.delivery_id ?? '-'],
            ['title', found.title ?? '-'],
            ['delivers to', found.deliver === null ? '-' : JSON.stringify(found.deliver)],
            ...found.filters.map(({ passes, detail }) => [passes ? 'passes' : 'says no', detail] as const),
            ...found.problems.map(({ place, message }) => ['problem', `${place}: ${message}`] as const),
          ],
          out.style,
        ),
        '',
        found.prompt ?? '',
      ].join('\n'),
    );
    return found.outcome === 'starts' ? undefined : EXIT.failed;
  },
});

export const routesTest = defineCommand({
  name: 'routes test',
  summary: 'send a route a webhook without a signature',
  description:
    'The agent works on it, and its answer is delivered. The same test again is a duplicate, unless a header such as ' +
    'idempotency-key differs. Exit code 1 means that it started no session. `angelia send` signs a webhook as a sender does.',
  arguments: [routeArgument],
  options: webhookOptions,
  examples: [{ command: 'angelia routes test deploys --body deploy.json', does: 'does the route work?' }],
  calls: ['post /v1/routes/{name}/test'],
  run: async (context) => {
    const { api, given, out } = context;
    const path = `/v1/routes/${encodeURIComponent(given.argument('route') ?? '')}/test`;
    const tested = await api().send<TestedWebhook>('POST', path, { body: await webhookOf(context) });
    out.answer(tested, () =>
      [tested.status, tested.session_id, tested.detail].filter((part) => part !== null).join(' '),
    );
    return tested.session_id === null ? EXIT.failed : undefined;
  },
});

async function webhookOf({ given, runtime }: Context): Promise<{ payload: unknown; headers: object }> {
  const file = given.text('body');
  const headers = given.texts('header').map((pair) => {
    const at = pair.indexOf('=');
    if (at <= 0) throw new CliError(EXIT.usage, `--header needs name=value, not "${pair}"`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return {
    payload: file === null ? {} : parsed(await readInput(runtime, file), file),
    headers: Object.fromEntries(headers),
  };
}

function parsed(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError(EXIT.usage, `--body ${file}: not JSON (${(error as Error).message})`);
  }
}
