import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { displayWidth } from '../terminal/width.ts';
import { answerJson, type CannedServer, startCannedServer } from '../testing/canned-server.ts';
import { runRecorded } from '../testing/run-recorded.ts';

const ID = '01a1e281-20d9-7563-b8f1-427765d52c50';
const AT = '2026-11-18T10:00:00.000Z';
const NOW = Date.parse(AT) + 3 * 60_000;
const ROUTE = 'a-route-with-a-name-that-is-as-long-as-the-config-allows-63-char';
const LONG = 'words that say in some detail what this is about, and then some more of them';

/** Rows with the longest texts that can be expected in each column. */
const lists: Readonly<Record<string, object>> = {
  '/v1/sessions': {
    id: ID,
    title: LONG,
    route: ROUTE,
    status: 'waiting',
    waiting_for: 'process',
    outcome: null,
    failure: { code: 'models_failed', message: LONG },
    delivery_id: 'd-1',
    created_at: AT,
    ended_at: null,
    agent: 'reviewer',
    model: 'main',
    usage: { input_tokens: 1_200_000, output_tokens: 34_567 },
    deliveries: { pending: 1, delivered: 2, dead: 3, dropped: 0 },
  },
  '/v1/deliveries': {
    id: `${ID}.123`,
    target: 'github_comment',
    via: 'fallback',
    kind: 'interim-status',
    status: 'delivered',
    attempts: 5,
    next_attempt_at: null,
    reason: null,
    receipt: LONG,
    possible_duplicate: true,
    updated_at: AT,
  },
  '/v1/questions': {
    session_id: ID,
    clarification_id: 'question-1',
    title: LONG,
    route: ROUTE,
    question: LONG,
    choices: [],
    asked_at: AT,
    deadline: AT,
  },
  '/v1/dead-letters': {
    id: '1234567',
    stream_id: `key-session-${ROUTE}-${ID}`,
    version: 12,
    handler: 'process-watcher',
    reason: LONG,
    recorded_at: AT,
  },
  '/v1/processes': {
    id: 'proc_0123456789abcdef01234567',
    session_id: ID,
    status: 'exited',
    exit_code: 137,
    signal: null,
    host: 'process-watcher-12',
    pid: 1_234_567,
    started_at: AT,
    command: LONG,
  },
  '/v1/routes': {
    name: ROUTE,
    status: 'disabled',
    source: 'config',
    problem: null,
    authenticated: true,
    definition: { deliver: 'github_comment', prompt: LONG, auth: 'standard-webhooks' },
  },
  '/v1/webhooks': {
    received_at: AT,
    route: ROUTE,
    outcome: 'unknown_route',
    reason: 'signature_of_an_unknown_scheme',
    status: 401,
    event: 'pull_request_review_comment',
    delivery_id: ID,
    session_id: ID,
    requested_route: null,
    source: '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff',
    detail: null,
  },
  '/v1/webhooks/counts': {
    route: ROUTE,
    outcome: 'unknown_route',
    reason: 'signature_of_an_unknown_scheme',
    count: 1_234_567,
    first_at: AT,
    last_at: AT,
  },
  '/v1/approvals': {
    id: `${ID}.1`,
    session_id: ID,
    title: LONG,
    route: ROUTE,
    agent: 'reviewer',
    tool: 'mcp__github__merge_pull_request',
    arguments: '{}',
    shown: { command: null, others: `{"text":"${LONG}"}` },
    digest: 'd',
    approvers: [],
    asked_at: AT,
    expires_at: AT,
  },
  '/v1/jobs': {
    job_id: ID,
    action: 'replay-dead-letters',
    filter: { handler: 'process-watcher', since: AT },
    status: 'cancelling',
    matches: 100_000,
    matches_exact: false,
    done: 12_345,
    skipped: 6_789,
    failed: 12,
    requested_at: AT,
  },
};

let server: CannedServer;
/** Of one test. */
let answers: Readonly<Record<string, object>> = {};
afterEach(() => {
  answers = {};
});

beforeAll(async () => {
  server = await startCannedServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://x');
    answerJson(response, answers[pathname] ?? { items: [lists[pathname]], next_cursor: null });
  });
});
afterAll(() => server.close());

const shown = async (argv: readonly string[], columns?: number) => {
  const { code, stdout, stderr } = await runRecorded(argv, {
    env: server.env,
    now: NOW,
    ...(columns === undefined ? {} : { columns }),
  });
  expect([code, stderr]).toEqual([0, '']);
  return stdout.trimEnd().split('\n');
};

it.each([
  ['sessions', ID],
  ['deliveries', `${ID}.123`],
  ['dead-letters', '1234567'],
  ['questions', ID],
  ['approvals', `${ID}.1`],
  ['processes', 'proc_0123456789abcdef01234567'],
  ['routes', ROUTE],
  ['webhooks', 'unknown_route'],
  ['webhooks counts', 'unknown_route'],
  ['jobs', ID],
])('%s fits 80 columns, and names each row whole', async (command, name) => {
  const words = command.split(' ');
  const narrow = await shown(words, 80);
  expect(narrow.filter((line) => displayWidth(line) > 80)).toEqual([]);
  expect(narrow).toHaveLength(2);
  expect(narrow[1]).toContain(name);
  // The same with `list`, and every column with `-o wide`.
  if (words.length === 1) expect(await shown([command, 'list'], 80)).toEqual(narrow);
  const wide = await shown([...words, '-o', 'wide'], 80);
  const columns = (lines: string[]) => lines[0]?.split(/ {2,}/).length ?? 0;
  expect(displayWidth(wide[1] ?? '')).toBeGreaterThan(80);
  expect(columns(wide)).toBeGreaterThanOrEqual(columns(await shown(words)));
});

it('sessions have columns for duration, agent, model and tokens', async () => {
  const [head = '', row = ''] = await shown(['sessions'], 250);
  expect(head.split(/ {2,}/)).toEqual([
    'SESSION',
    'STATUS',
    'ROUTE',
    'STARTED',
    'DURATION',
    'DELIVERED',
    'AGENT',
    'MODEL',
    'TOKENS',
    'TITLE',
  ]);
  expect(row).toMatch(/ 3 min ago +3 min +2 of 3, 3 dead +reviewer +main +1234567 +words/);
});

it('a tool call that waits for an approval looks like no other one', async () => {
  const command = 'echo hi\nrm -rf ~ \\u{202e}';
  const shownCall = { command, others: '{"cwd":"x"}' };
  const items = [{ ...lists['/v1/approvals'], shown: shownCall }];
  answers = { '/v1/approvals': { items, next_cursor: null } };
  const [, row = ''] = await shown(['approvals'], 200);
  expect(row).toMatch(/ echo hi\\u\{a\}rm -rf ~ \\u\{202e\} \{"cwd":"x"\}$/);
});

it('the reason of a webhook is whole, on lines that fit the terminal', async () => {
  answers = { '/v1/webhooks': { items: [{ ...lists['/v1/webhooks'], detail: `${LONG}: ${LONG}` }] } };
  const lines = await shown(['webhooks'], 80);
  expect(lines.filter((line) => displayWidth(line) > 80)).toEqual([]);
  const detail = lines.slice(2).map((line) => line.replace(/^ {2}/, ''));
  expect(detail.join(' ')).toBe(`${LONG}: ${LONG}`);
});

it.each([
  ['sessions', 'there are no such sessions\n'],
  ['deliveries', 'there are no such deliveries\n'],
  ['processes', 'there are no such processes\n'],
  ['jobs', 'there are no jobs\n'],
  ['dead-letters', 'there are no dead letters\n'],
  ['questions', 'there are no open questions\n'],
  ['approvals', 'there are no open requests\n'],
])('%s says if there are none, and not on stdout', async (command, note) => {
  answers = { [`/v1/${command}`]: { items: [], next_cursor: null } };
  expect(await runRecorded([command], { env: server.env })).toEqual({ code: 0, stdout: '', stderr: note });
});

it('status of a session that waits for a model has what the model said', async () => {
  const session = {
    ...lists['/v1/sessions'],
    waiting_for: 'model',
    failure: { code: 'unavailable', message: 'main: unavailable' },
    retry_at: AT,
    deliver: { target: 'log', to: {} },
    processes: [],
    last_activity_at: AT,
    end_reason: null,
  };
  const putOff = (message: string, version: number) => ({
    type: 'run.put-off',
    version,
    recorded_at: AT,
    data: { generation: version, reason: 'unavailable', retry_at: AT, models: [{ model: 'main', message }] },
  });
  answers = {
    [`/v1/sessions/${ID}`]: session,
    [`/v1/sessions/${ID}/events`]: {
      items: [putOff('an old one', 1), putOff('model main: busy (HTTP 429)', 2)],
    },
  };
  const reason = (await shown(['status', ID])).find((line) => line.startsWith('reason'));
  expect(reason).toBe('reason         unavailable: model main: busy (HTTP 429)');
});
