import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { answerJson, type CannedServer, startCannedServer } from '../testing/canned-server.ts';
import { runRecorded } from '../testing/run-recorded.ts';

const A = '01a1e281-20d9-7563-b8f1-427765d52c50';
const B = '01a1e281-20d9-7a00-8000-000000000001';
const C = '01a1e300-0000-7a00-8000-000000000002';
const sessions = [C, B, A];
const deliveries = [`${A}.7`, `${A}.71`, `${B}.7`];
const processes = ['proc_8f3a', 'proc_8f3abb', 'proc_99'];

let server: CannedServer;
let asked: string[];

/** Answers lists as ingress does: what begins with `id`. */
beforeAll(async () => {
  server = await startCannedServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    asked.push(`${request.method} ${request.url}`);
    const from = (ids: readonly string[], field = 'id') =>
      ids
        .filter((id) => id.startsWith(searchParams.get('id') ?? ''))
        .slice(0, Number(searchParams.get('limit') ?? 50))
        .map((id) => ({ [field]: id }));
    const lists: Record<string, () => unknown> = {
      '/v1/sessions': () => ({ items: from(sessions), next_cursor: null }),
      '/v1/processes': () => ({ items: from(processes), next_cursor: null }),
      '/v1/jobs': () => ({ items: from([A], 'job_id'), next_cursor: null }),
      '/v1/deliveries': () => ({
        items: deliveries
          .filter((id) => id.startsWith(searchParams.get('session') ?? ''))
          .map((id) => ({ id })),
        next_cursor: null,
      }),
      '/v1/routes': () => ({ items: [{ name: 'alerts' }, { name: 'reviews' }], next_cursor: null }),
    };
    answerJson(response, lists[pathname]?.() ?? { session_id: pathname.split('/')[3], id: pathname });
  });
});
afterAll(() => server.close());

async function angelia(...argv: string[]) {
  asked = [];
  return runRecorded(argv, { env: server.env });
}

describe('an id', () => {
  it('may be given by any unique prefix, and is shown whole', async () => {
    const { code, stdout } = await angelia('cancel', '01a1e3', '01A1E281-20d9-75');
    expect([code, stdout]).toEqual([0, `${C} is cancelled\n${A} is cancelled\n`]);
  });

  it('that is whole needs no list', async () => {
    await angelia('cancel', A);
    expect(asked).toEqual([`POST /v1/sessions/${A}/cancel`]);
  });

  it('that is ambiguous says which match, and nothing is done', async () => {
    const { code, stderr } = await angelia('cancel', C, '01a1e281');
    expect([code, stderr]).toEqual([
      2,
      `angelia: "01a1e281" is the beginning of several ids: ${B}, ${A}\n  give more of the id\n`,
    ]);
    expect(asked.filter((call) => call.startsWith('POST'))).toEqual([]);
  });

  it('that no session has gives exit code 3', async () => {
    const { code, stderr } = await angelia('status', 'ffff');
    expect([code, stderr]).toEqual([3, 'angelia: there is no session whose id begins with "ffff"\n']);
  });

  it('that cannot be one is refused without a call, and the error says where ids are', async () => {
    const { code, stderr } = await angelia('status', 'last');
    expect([code, stderr]).toEqual([
      2,
      'angelia: "last" is not the beginning of the id of a session\n  angelia sessions shows the ids\n',
    ]);
    expect(asked).toEqual([]);
  });

  it.each([
    [['retry', '01a1e281-20d9-75.71'], `/v1/deliveries/${A}.71/retry`],
    // An output, not the beginning of one.
    [['retry', '01a1e281-20d9-75.7'], `/v1/deliveries/${A}.7/retry`],
    [['retry', '01a1e281-20d9-7a'], `/v1/deliveries/${B}.7/retry`],
    [['processes', 'kill', 'proc_9'], '/v1/processes/proc_99/kill'],
    [['processes', 'kill', 'proc_8f3a'], '/v1/processes/proc_8f3a/kill'],
    [['jobs', 'cancel', '01'], `/v1/jobs/${A}/cancel`],
  ])('%j calls %s', async (argv, path) => {
    const { code } = await angelia(...argv);
    expect([code, asked.at(-1)]).toEqual([0, `POST ${path}`]);
  });

  it('may be the value of an option', async () => {
    await angelia('deliveries', '--session', '01a1e3');
    expect(asked.at(-1)).toContain(`session=${C}`);
    const { code } = await angelia('retry', '01a1e281-20d9-75.');
    expect(code).toBe(2);
  });

  it.each([
    [['session'], sessions],
    [
      ['session', '01a1e281'],
      [B, A],
    ],
    [['delivery', '01a1e281-20d9-7a'], [`${B}.7`]],
    [
      ['process', 'proc_8'],
      ['proc_8f3a', 'proc_8f3abb'],
    ],
    [['job'], [A]],
    [['route', 'al'], ['alerts']],
  ])('completion offers %j: %j', async (argv, names) => {
    const { stdout } = await angelia('completion', 'names', ...argv);
    expect(stdout.trimEnd().split('\n')).toEqual(names);
  });
});
