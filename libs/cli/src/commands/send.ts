import { randomUUID } from 'node:crypto';
import { addressOf, parsed, reach, refusalOf } from '../api/client.ts';
import { baseUrlOf } from '../api/connection.ts';
import { type Context, defineCommand } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { routeAccess } from '../send/route-access.ts';
import { type Scheme, schemeNames, schemeOf } from '../send/sign.ts';
import { isPiped, readInput, readStdin } from '../terminal/read-input.ts';
import { toneOf } from '../terminal/style.ts';
import { waitForSession, waitOptions } from './wait.ts';

const REQUEST_TIMEOUT_MS = 30_000;

interface Answer {
  readonly status: string;
  readonly route?: string;
  readonly event?: string | null;
  readonly delivery_id?: string;
  readonly session_id?: string;
  readonly reason?: string;
}

export const send = defineCommand({
  name: 'send',
  summary: 'sign a test webhook and post it to a route',
  description:
    'The body is --data, --file, stdin, or a test body that fits the route. The secret and the scheme come from the config file ' +
    '(ANGELIA_CONFIG, ./angelia.yaml, else the demo). For a route made by API, give the secret yourself. Only --wait needs ' +
    'the admin token.',
  arguments: [{ name: 'route', names: 'route', summary: 'name of the route' }],
  options: {
    data: { short: 'd', value: 'json', summary: 'the body' },
    file: { value: 'path', file: true, summary: 'file with the body; `-` reads stdin' },
    event: {
      value: 'name',
      summary: "event type, in the scheme's header; else the first of the route's `events`",
    },
    'delivery-id': {
      value: 'id',
      summary: 'the delivery id; a second webhook with it is a duplicate (a new id)',
    },
    scheme: {
      value: 'name',
      values: schemeNames,
      summary: "how to sign, instead of the route's `auth`",
    },
    'secret-file': { value: 'path', file: true, summary: "file with the route's secret" },
    secret: { value: 'text', summary: 'the secret itself; other users of this machine can read it in `ps`' },
    header: { value: 'name=value', many: true, summary: 'an additional header' },
    ...waitOptions,
  },
  examples: [
    { command: 'angelia send demo', does: 'does it work?' },
    {
      command: `angelia send demo --data '{"text":"Hello"}' --wait`,
      does: 'follow the session until its answer is delivered',
    },
    {
      command: 'angelia send github-pr --event pull_request --file payload.json',
      does: 'a recorded payload, signed as GitHub does',
    },
    {
      command: `echo '{"text":"hi"}' | angelia send deploys --secret-file deploys.secret`,
      does: 'a route made by API',
    },
  ],
  run: async (context) => {
    const { given, out, runtime } = context;
    const name = given.argument('route') ?? '';
    const baseUrl = baseUrlOf(runtime, given);
    const access = await routeAccess(context, name);
    const scheme = access.secret === null ? null : schemeOf(access.scheme);
    const nowMs = runtime.now();
    const body = stamped(await bodyOf(context, access.sample), scheme, nowMs);
    const headers = headersOf(context, {
      scheme,
      schemeName: typeof access.scheme === 'string' ? access.scheme : access.scheme.scheme,
      secret: access.secret,
      event: access.event,
      body,
      nowMs,
    });
    const path = `/webhooks/${encodeURIComponent(name)}`;
    const url = addressOf(baseUrl, path);
    const response = await reach(url, {
      method: 'POST',
      body,
      headers,
      signal: AbortSignal.any([runtime.signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
    });
    if (!response.ok) throw await refusalOf(response, path);
    const answer = parsed<Answer>(await response.text(), baseUrl, !out.json);
    out.item(answer, () => answerText(answer, out.style));
    if (!given.switch('wait')) return undefined;
    if (answer.session_id === undefined) {
      throw new CliError(EXIT.failed, 'nothing to wait for: this webhook started no session');
    }
    return waitForSession(context, context.api(), answer.session_id);
  },
});

function answerText(answer: Answer, style: Context['out']['style']): string {
  const { status, session_id: session, delivery_id: delivery, reason } = answer;
  return [
    style(toneOf(status ?? ''), status ?? JSON.stringify(answer)),
    ...(reason === undefined ? [] : [`reason: ${reason}`]),
    ...(session === undefined ? [] : [`session ${session}`]),
    ...(delivery === undefined ? [] : [style('dim', `delivery ${delivery}`)]),
  ].join('  ');
}

async function bodyOf({ given, runtime }: Context, sample: object): Promise<string> {
  const data = given.text('data');
  const file = given.text('file');
  if (data !== null && file !== null) throw new CliError(EXIT.usage, 'give --data or --file, not both');
  if (data !== null) return data;
  if (file !== null) return readInput(runtime, file);
  const piped = isPiped(runtime) ? await readStdin(runtime) : '';
  return piped === '' ? JSON.stringify(sample) : piped;
}

function stamped(body: string, scheme: Scheme | null, nowMs: number): string {
  if (scheme?.stamp === undefined) return body;
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return JSON.stringify(scheme.stamp(value as Record<string, unknown>, nowMs));
    }
  } catch {
    // Not JSON: the server's error message is better.
  }
  return body;
}

function headersOf(
  { given }: Context,
  signing: {
    readonly scheme: Scheme | null;
    readonly schemeName: string;
    readonly secret: string | null;
    readonly event: string | null;
    readonly body: string;
    readonly nowMs: number;
  },
): Record<string, string> {
  const { scheme, secret, body, nowMs } = signing;
  if (scheme?.namesInBody === true) {
    for (const option of ['event', 'delivery-id']) {
      if (given.text(option) === null) continue;
      throw new CliError(
        EXIT.usage,
        `scheme ${signing.schemeName} has the ${option === 'event' ? 'event type' : 'delivery id'} in the body: put it there instead of --${option}`,
      );
    }
  }
  const deliveryId = given.text('delivery-id') ?? randomUUID();
  const event = given.text('event') ?? signing.event;
  const signed =
    scheme === null || secret === null
      ? { 'x-request-id': deliveryId, ...(event === null ? {} : { 'x-event-type': event }) }
      : scheme.headers({ body, secret, deliveryId, event, nowMs });
  const further = given.texts('header').map((pair) => {
    const [, header, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)[=:]\s*(.*)$/s.exec(pair) ?? [];
    if (header === undefined || value === undefined) {
      throw new CliError(EXIT.usage, `--header needs name=value, not "${pair}"`);
    }
    return [header.toLowerCase(), value];
  });
  const headers = { 'content-type': 'application/json', ...signed, ...Object.fromEntries(further) };
  try {
    return Object.fromEntries(new Headers(headers));
  } catch {
    throw new CliError(
      EXIT.usage,
      'a header has characters that HTTP does not allow: check --event, --delivery-id and --header',
    );
  }
}
