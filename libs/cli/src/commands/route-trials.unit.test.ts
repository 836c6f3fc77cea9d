import { expect, it } from '@jest/globals';
import { answerJson, startCannedServer } from '../testing/canned-server.ts';
import { runRecorded } from '../testing/run-recorded.ts';

const ID = '01a1e281-20d9-7563-b8f1-427765d52c50';

it('a test and a preview send the webhook as written, and the exit code says whether it starts a session', async () => {
  const posted: unknown[] = [];
  const server = await startCannedServer((request, response, body) => {
    posted.push([request.url, JSON.parse(body)]);
    if (request.url === '/v1/routes/deploys/test') {
      return answerJson(response, { status: 'accepted', session_id: ID, detail: null });
    }
    const nothing = { event: null, delivery_id: null, prompt: 'Say', title: null, deliver: null };
    const filters = [{ passes: false, detail: 'filters.0 (a exists true): a is missing' }];
    answerJson(response, { ...nothing, outcome: 'ignored', reason: 'no', problems: [], filters });
  });
  try {
    const sent = ['deploys', '--body', '-', '--header', 'x-kind=a=b'];
    const tested = await runRecorded(['routes', 'test', ...sent], { env: server.env, input: '{"a":1}' });
    expect(tested).toEqual({ code: 0, stdout: `accepted ${ID}\n`, stderr: '' });
    const previewed = await runRecorded(['routes', 'preview', ...sent], {
      env: server.env,
      input: '{"a":1}',
    });
    expect([previewed.code, previewed.stdout]).toEqual([1, expect.stringContaining('a is missing')]);
    const webhook = { payload: { a: 1 }, headers: { 'x-kind': 'a=b' } };
    expect(posted).toEqual([
      ['/v1/routes/deploys/test', webhook],
      ['/v1/routes/preview', { name: 'deploys', ...webhook }],
    ]);
    const wrong = await runRecorded(['routes', 'test', ...sent], { env: server.env, input: '{' });
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('not JSON')]);
  } finally {
    await server.close();
  }
});
