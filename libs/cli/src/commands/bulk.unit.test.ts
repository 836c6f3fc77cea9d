import { afterEach, expect, it } from '@jest/globals';
import { answerJson, type CannedServer, startCannedServer } from '../testing/canned-server.ts';
import { type RecordedRunOptions, runRecorded } from '../testing/run-recorded.ts';

const JOB = '01a1e2a4-77c1-7d0e-9a53-0c6f3f1f2b11';

let server: CannedServer;
afterEach(() => server.close());

const job = (over: object) => ({
  job_id: JOB,
  action: 'cancel',
  filter: {},
  status: 'running',
  matches: 4,
  matches_exact: true,
  done: 0,
  skipped: 0,
  failed: 0,
  skips: {},
  failures: [],
  ...over,
});

/** The job is in these states, one after the other; the last one stays. */
async function bulk(states: readonly object[], argv: readonly string[], options: RecordedRunOptions = {}) {
  const posted: unknown[] = [];
  let looks = 0;
  server = await startCannedServer((request, response, body) => {
    if (request.method === 'POST') {
      posted.push(JSON.parse(body));
      const isDryRun = JSON.parse(body).dry_run === true;
      return answerJson(response, {
        job_id: isDryRun ? null : JOB,
        matches: 4,
        matches_exact: true,
        sample: [],
      });
    }
    looks += 1;
    return answerJson(response, job(states[Math.min(looks, states.length) - 1] ?? {}));
  });
  const run = await runRecorded(argv, { ...options, env: server.env });
  return { ...run, posted };
}

it('sends the filters by the names of the API', async () => {
  const { posted } = await bulk(
    [{ status: 'finished' }],
    ['cancel', '--delivery-id', 'd-1', '--title', 'x', '--since', '2h', '--yes'],
  );
  expect(posted).toEqual([
    { action: 'cancel', filter: { delivery_id: 'd-1', title: 'x', since: '2h' }, dry_run: false },
  ]);
});

it('a dry run requests nothing', async () => {
  const { posted, stdout } = await bulk([], ['erase', '--route', 'r', '--dry-run', '--yes']);
  expect(posted).toEqual([{ action: 'erase', filter: { route: 'r' }, dry_run: true }]);
  expect(stdout).toBe('would erase 4 settled sessions for good\n');
});

it('shows the progress on a terminal, then the result', async () => {
  const { code, stdout } = await bulk(
    [{ done: 1 }, { done: 4, status: 'finished' }],
    ['resume', '--since', '1h', '--yes'],
    { columns: 80 },
  );
  expect(code).toBe(0);
  expect(stdout).toContain('running: 1 done, 0 skipped, 0 failed, of 4');
  expect(stdout).toContain(`job ${JOB} is finished: 4 done, 0 skipped, 0 failed\n`);
});

it.each([
  ['something failed', { status: 'finished', done: 3, failed: 1 }],
  ['somebody cancelled it', { status: 'cancelled', done: 3 }],
])('gives exit code 1 if %s', async (_, state) => {
  const { code } = await bulk([state], ['retry', '--all', '--yes']);
  expect(code).toBe(1);
});

it('Ctrl-C leaves the job alone, and says how to stop it', async () => {
  const ctrlC = new AbortController();
  const { code, stderr } = await bulk([{ done: 1 }], ['retry', '--all', '--yes'], {
    columns: 80,
    signal: ctrlC.signal,
    onOutput: ({ stdout }) => {
      if (stdout.includes('running')) ctrlC.abort();
    },
  });
  expect(code).toBe(130);
  expect(stderr).toContain(`the job continues. To stop it: angelia jobs cancel ${JOB}`);
});

it('--detach prints the job and does not wait for it', async () => {
  const { code, stdout } = await bulk([{}], ['dead-letters', 'replay', '--all', '--yes', '--detach']);
  expect([code, stdout]).toEqual([0, `job ${JOB} is requested: 4 found\n`]);
});
