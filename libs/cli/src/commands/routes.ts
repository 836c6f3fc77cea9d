import { randomBytes } from 'node:crypto';
import type { Api } from '../api/client.ts';
import type { Route } from '../api/types.ts';
import { type Context, defineCommand } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { confirm, yesOption } from '../terminal/confirm.ts';
import { readInput } from '../terminal/read-input.ts';
import { toneOf } from '../terminal/style.ts';
import { type Column, fields, table } from '../terminal/table.ts';
import { fetchPage, noteMore, pagingOptions } from './paging.ts';

const nameArgument = { name: 'route', names: 'route', summary: 'name of the route' } as const;
const pathOf = (name: string): string => `/v1/routes/${encodeURIComponent(name)}`;

export const routesList = defineCommand({
  name: 'routes list',
  isDefault: true,
  summary: 'list the routes of the config file and those made by API',
  options: pagingOptions,
  examples: [{ command: 'angelia routes', does: 'all routes' }],
  calls: ['get /v1/routes'],
  run: async (context) => {
    const { out } = context;
    const page = await fetchPage<Route>(context, '/v1/routes');
    const columns: Column<Route>[] = [
      { head: 'ROUTE', text: ({ name }) => name },
      { head: 'STATUS', text: ({ status }) => status, tone: ({ status }) => toneOf(status) },
      { head: 'FROM', text: ({ source }) => source, dropped: 4 },
      { head: 'DELIVERS TO', text: ({ definition }) => String(definition.deliver ?? '-'), dropped: 2 },
      { head: 'SIGNED', text: signedText, dropped: 3 },
      {
        head: 'PROMPT',
        text: ({ problem, definition }) => problem ?? String(definition.prompt ?? ''),
        tone: ({ problem }) => (problem === null ? 'plain' : 'bad'),
        flexible: true,
        dropped: 1,
      },
    ];
    out.answer(page, () => (page.items.length === 0 ? '' : table(page.items, columns, out)));
    noteMore(context, page, 'routes');
    return undefined;
  },
});

export const routesShow = defineCommand({
  name: 'routes show',
  summary: 'show one route, without its secret',
  arguments: [nameArgument],
  examples: [{ command: 'angelia routes show github-pr', does: 'its definition with all defaults' }],
  calls: ['get /v1/routes/{name}'],
  run: async ({ api, given, out }) => {
    const client = api();
    const route = await client.get<Route>(pathOf(given.argument('route') ?? ''));
    out.answer(route, () => routeText(route, client, out));
    return undefined;
  },
});

export const routesAdd = defineCommand({
  name: 'routes add',
  summary: 'make a route, which works within a second',
  description:
    'The keys are those of a route in the config file (docs/routes.md), from a file or from options. Options win over the ' +
    'file. Without a secret, the server makes one and prints it this one time. An existing route stays unchanged unless you ' +
    'use --replace. Change routes of the config file in that file.',
  arguments: [nameArgument],
  options: {
    file: { value: 'path', file: true, summary: 'YAML or JSON with the keys of the route; `-` reads stdin' },
    prompt: { value: 'template', summary: 'what the agent is told: "Review {pull_request.title}"' },
    agent: { value: 'name', summary: 'the agent (default)' },
    deliver: { value: 'target', summary: 'where the answer goes (log)' },
    'deliver-extra': { value: 'key=value', many: true, summary: 'the place at the target: chat_id=42' },
    events: { value: 'name', many: true, summary: 'only these events' },
    toolsets: { value: 'name', many: true, summary: "a subset of the agent's toolsets, instead of all" },
    auth: {
      value: 'scheme',
      summary: 'how senders sign; without it, every scheme of docs/routes.md is accepted',
    },
    'secret-file': { value: 'path', file: true, summary: 'file with the secret to use' },
    replace: { summary: 'replace the definition of an existing route and keep its secret' },
  },
  examples: [
    {
      command: 'angelia routes add deploys --prompt "Say what this deploy changes: {text}" --deliver log',
      does: 'a small route; its secret is printed',
    },
    {
      command: 'angelia routes add reviews --file reviews.yaml --replace',
      does: 'from a file in git',
    },
  ],
  calls: ['put /v1/routes/{name}'],
  run: async (context) => {
    const { api, given, out } = context;
    const client = api();
    const body = { ...(await definitionOf(context)), ...(await secretOf(context)) };
    const route = await client
      .send<Route>('PUT', pathOf(given.argument('route') ?? ''), {
        body,
        headers: given.switch('replace') ? {} : { 'if-none-match': '*' },
      })
      .catch(async (error: unknown) => {
        if (!(error instanceof CliError) || error.exitCode !== EXIT.refused) throw error;
        // A route of the config file cannot be replaced by API.
        const { source } = await client.get<Route>(pathOf(given.argument('route') ?? ''));
        if (source === 'config') throw error;
        throw new CliError(error.exitCode, error.message, 'give --replace to replace its definition');
      });
    out.answer(route, () => routeText(route, client, out));
    if (route.secret !== undefined) out.note('this secret is never shown again: give it to the sender now');
    return undefined;
  },
});

export const routesRemove = defineCommand({
  name: 'routes remove',
  summary: 'delete a route made by API; its sessions continue',
  arguments: [nameArgument],
  options: yesOption,
  examples: [{ command: 'angelia routes remove deploys --yes', does: 'its webhooks get 404 from now on' }],
  calls: ['delete /v1/routes/{name}'],
  run: async (context) => {
    const { api, given, out } = context;
    const client = api();
    const name = given.argument('route') ?? '';
    await confirm(context, `delete route ${name}`);
    await client.send('DELETE', pathOf(name));
    out.answer({ name, removed: true }, () => `route ${name} is deleted`);
    return undefined;
  },
});

/** As many as the server uses. Standard Webhooks allows 24 to 64; other schemes use the text as it is. */
const SECRET_BYTES = 32;
/** What the API shows instead of a secret value. */
const REDACTED = '[redacted]';

export const routesRotateSecret = defineCommand({
  name: 'routes rotate-secret',
  summary: 'give a route made by API a new secret',
  description:
    'It prints the new secret once. With --keep-old or --old-secret-file, both secrets are accepted until you call this again without it. ' +
    'Otherwise the old secret is refused at once. The rest of the route stays unchanged.',
  arguments: [nameArgument],
  options: {
    'secret-file': {
      value: 'path',
      file: true,
      summary: 'file with the new secret, instead of a generated one',
    },
    'keep-old': { summary: 'the previous secret is also accepted until the next rotation' },
    'old-secret-file': { value: 'path', file: true, summary: 'file with the old secret; both are accepted' },
  },
  examples: [
    { command: 'angelia routes rotate-secret deploys', does: 'at once, after a leak' },
    {
      command: 'angelia routes rotate-secret deploys --keep-old',
      does: 'without a gap: move senders over, then call it again without the option',
    },
  ],
  calls: ['post /v1/routes/{name}/rotate-secret', 'put /v1/routes/{name}'],
  run: async (context) => {
    const { api, given, out } = context;
    const client = api();
    const name = given.argument('route') ?? '';
    const route = await client.getExactly<Route>(pathOf(name));
    if (route.source === 'config') {
      throw new CliError(
        EXIT.refused,
        `route ${name} is in the config file: change its secret there, and the services take it by themselves`,
        'with a list of secrets in the file, ingress accepts the old and the new one',
      );
    }
    if (given.text('secret-file') === null && given.text('old-secret-file') === null) {
      const rotated = await client.send<Route>('POST', `${pathOf(name)}/rotate-secret`, {
        body: { keep_previous: given.switch('keep-old') },
        headers: { 'if-match': `"${route.revision}"` },
      });
      out.answer(rotated, () => routeText(rotated, client, out));
      out.note('this secret is never shown again: give it to the sender now');
      return undefined;
    }
    if (given.switch('keep-old')) {
      throw new CliError(EXIT.usage, 'give --keep-old without files, or --old-secret-file');
    }
    if (JSON.stringify(route.definition).includes(JSON.stringify(REDACTED))) {
      throw new CliError(
        EXIT.refused,
        `route ${name} has values that the API does not show: they would be lost. Give the whole definition again`,
        `angelia routes add ${name} --file ... --secret-file ... --replace`,
      );
    }
    const fresh =
      (await secretInFile(context, 'secret-file')) ?? `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
    const old = await secretInFile(context, 'old-secret-file');
    const changed = await client.send<Route>('PUT', pathOf(name), {
      body: { ...route.definition, secret: old === null ? fresh : [fresh, old] },
      // This must not undo a change that someone else made in between.
      headers: { 'if-match': `"${route.revision}"` },
    });
    const answer = { ...changed, secret: fresh };
    out.answer(answer, () => routeText(answer, client, out));
    out.note('this secret is never shown again: give it to the sender now');
    return undefined;
  },
});

function signedText({ authenticated, definition }: Route): string {
  if (!authenticated) return 'no';
  const { auth } = definition;
  if (typeof auth !== 'object' || auth === null) return String(auth ?? 'yes');
  const { scheme, header } = auth as { readonly scheme: string; readonly header: string };
  return `${scheme} in ${header}`;
}

function routeText(route: Route, client: Api, out: Context['out']): string {
  const { name, path, source, status, problem, revision, updated_at: updated, definition, secret } = route;
  const head = fields(
    [
      ['route', name, 'bold'],
      ['webhooks', new URL(path.slice(1), client.baseUrl).href],
      ...(secret === undefined ? [] : [['secret', secret, 'accent'] as const]),
      ['status', problem === null ? status : `${status}: ${problem}`, toneOf(status)],
      ['from', source === 'config' ? 'the config file' : `the API, revision ${revision}, ${updated}`],
      ['signed', signedText(route)],
    ],
    out.style,
  );
  return `${head}\n\n${JSON.stringify(definition, null, 2)}`;
}

async function definitionOf({ given, runtime }: Context): Promise<Record<string, unknown>> {
  const file = given.text('file');
  const fromFile = file === null ? {} : await parseDefinition(await readInput(runtime, file), file);
  const fromOptions: Record<string, unknown> = {};
  for (const key of ['prompt', 'agent', 'deliver', 'auth']) {
    const value = given.text(key);
    if (value !== null) fromOptions[key] = value;
  }
  for (const key of ['events', 'toolsets']) {
    if (given.texts(key).length > 0) fromOptions[key] = given.texts(key);
  }
  const extra = given.texts('deliver-extra').map((pair) => {
    const at = pair.indexOf('=');
    if (at <= 0) throw new CliError(EXIT.usage, `--deliver-extra needs key=value, not "${pair}"`);
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  if (extra.length > 0) fromOptions.deliver_extra = Object.fromEntries(extra);
  return { ...fromFile, ...fromOptions };
}

async function parseDefinition(text: string, file: string): Promise<Record<string, unknown>> {
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text, { prettyErrors: false });
  const [problem] = document.errors;
  if (problem !== undefined) {
    const line = text.slice(0, problem.pos[0]).split('\n').length;
    throw new CliError(EXIT.usage, `${file}: line ${line}: ${problem.message}`);
  }
  const value: unknown = document.toJS();
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new CliError(EXIT.usage, `${file}: expected the keys of one route, such as \`prompt: ...\``);
}

async function secretOf(context: Context): Promise<{ secret?: string }> {
  const secret = await secretInFile(context, 'secret-file');
  return secret === null ? {} : { secret };
}

async function secretInFile({ given, runtime }: Context, option: string): Promise<string | null> {
  const file = given.text(option);
  if (file === null) return null;
  const secret = (await readInput(runtime, file)).trim();
  if (secret !== '') return secret;
  throw new CliError(EXIT.usage, `--${option} ${file}: the file holds no secret`);
}
