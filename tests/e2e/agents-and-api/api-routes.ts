import { eventually, type Sink, startSink, TEST_SINK_SECRET } from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, stack } from '../shared-stack.ts';

let sink: Sink;

async function change(method: 'PUT' | 'DELETE', name: string, body?: object) {
  const response = await fetch(new URL(`/v1/routes/${name}`, stack.baseUrl), {
    method,
    headers: {
      authorization: `Bearer ${stack.adminToken}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as { secret?: string } };
}

const toSink = (to: Sink) => ({ prompt: '{text}', deliver: 'http', deliver_extra: { url: to.url } });

export function apiRoutes(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    return {};
  });

  afterAll(() => sink?.stop());

  describe('a route made by API', () => {
    it('survives a killed (-9) ingress, with the secret that was shown once', async () => {
      const { secret } = (await change('PUT', 'kept', toSink(sink))).body;
      await stack.restarted('ingress', stack.kill('ingress'));
      const statuses: number[] = [];
      const answer = await eventually(async () => {
        const posted = await stack.post({ route: 'kept', secret: secret as string, body: { text: 'still' } });
        statuses.push(posted.status);
        return posted.status === 202 && posted;
      });
      // 503 while it has not loaded its routes: a 404 would be wrong for a route that exists.
      expect(statuses.filter((status) => status !== 202 && status !== 503)).toEqual([]);
      await stack.waitForEnd(answer.sessionId, { settled: true });
      expect(sink.taken(answer.sessionId)).toHaveLength(1);
    });
  });
}
