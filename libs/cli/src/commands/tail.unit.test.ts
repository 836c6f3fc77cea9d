import { afterEach, expect, it } from '@jest/globals';
import { answerJson, type CannedServer, startCannedServer } from '../testing/canned-server.ts';
import { runRecorded } from '../testing/run-recorded.ts';

const SESSION = '01a1e281-20d9-7563-b8f1-427765d52c50';

let server: CannedServer;
afterEach(() => server.close());

const message = (place: number, streamId = SESSION) =>
  `id: 1-7-${place}\ndata: ${JSON.stringify({
    stream_id: streamId,
    session_id: streamId === SESSION ? SESSION : null,
    version: place,
    type: 'session.ended',
    recorded_at: '2026-11-18T10:00:00.000Z',
    data: { outcome: 'succeeded', reason: 'webhook_complete' },
    meta: {},
  })}\n\n`;

/** Each connection gets the next of these, and is closed after it. */
async function tailOf(parts: readonly string[], ...argv: string[]) {
  const asked: { url: string | undefined; after: unknown }[] = [];
  const ctrlC = new AbortController();
  server = await startCannedServer((request, response) => {
    if (request.url?.startsWith('/v1/webhooks')) return answerJson(response, { items: [] });
    asked.push({ url: request.url, after: request.headers['last-event-id'] });
    const part = parts[asked.length - 1];
    if (part === undefined) ctrlC.abort();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    // The server's own is 2 s.
    response.end(`retry: 1\n\n${part ?? ''}`);
  });
  const run = await runRecorded(['tail', ...argv], { env: server.env, signal: ctrlC.signal });
  return { ...run, asked };
}

it('tail continues after the last event that it saw, or after the place that it was told', async () => {
  const { code, stdout, asked } = await tailOf([`id: 1-7-0\n\n${message(1)}`, `${message(2)}id: 1-7-9\n\n`]);
  expect(code).toBe(130);
  expect(asked.map(({ after }) => after)).toEqual([undefined, '1-7-1', '1-7-9']);
  expect(stdout.match(/session\.ended/g)).toHaveLength(2);
});

it('tail asks for one route and for types; a word without a dot stands for all that begin so', async () => {
  const { asked } = await tailOf([], '--route', 'alerts', '--type', 'delivery', '--type', 'session.ended');
  expect(asked[0]?.url).toBe('/v1/events?route=alerts&type=delivery.%2Csession.ended');
});

it('tail shows keys of the log only with --json', async () => {
  const parts = [message(1, 'key-x'), message(2, 'job-y')];
  const { stdout } = await tailOf([parts.join('')]);
  expect(stdout).not.toContain('key-x');
  expect(stdout).toContain('job-y');
  await server.close();
  const asJson = await tailOf([parts.join('')], '--json');
  expect(
    asJson.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).stream_id),
  ).toEqual(['key-x', 'job-y']);
});
