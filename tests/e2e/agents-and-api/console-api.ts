import { eventually, type Sink, startSink, TEST_SINK_SECRET, testRoute } from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, stack } from '../shared-stack.ts';

let sink: Sink;

async function call(method: 'GET' | 'POST', path: string, body?: object): Promise<Record<string, unknown>> {
  const response = await fetch(new URL(path, stack.baseUrl), {
    method,
    headers: {
      authorization: `Bearer ${stack.adminToken}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect([path, response.status]).toEqual([path, 200]);
  return (await response.json()) as Record<string, unknown>;
}

export function consoleApi(): void {
  addToStack(async () => {
    sink = await startSink({ secret: TEST_SINK_SECRET });
    return { routes: { 'console-api': testRoute(sink.url) } };
  });

  afterAll(() => sink?.stop());

  describe('what the console asks for', () => {
    it('a test webhook is worked on and delivered, and the overview counts it', async () => {
      const tested = await call('POST', '/v1/routes/console-api/test', { payload: { text: 'hello' } });
      expect(tested).toMatchObject({ status: 'accepted' });
      const id = String(tested.session_id);
      await stack.waitForEnd(id, { settled: true });
      expect(sink.taken(id)).toHaveLength(1);
      await eventually(async () => {
        const { minutes } = (await call('GET', '/v1/overview')) as {
          minutes: { delivered: number; answered: object | null }[];
        };
        return minutes.some(({ delivered, answered }) => delivered > 0 && answered !== null);
      });
    });

    it('the system shows all services with their versions, and doctor finds them', async () => {
      const seen = await eventually(async () => {
        const { services } = (await call('GET', '/v1/system')) as {
          services: { service: string; version: string; status: string; leads: string[] }[];
        };
        const alive = services.filter(({ status }) => status === 'alive');
        return new Set(alive.map(({ service }) => service)).size === 4 && alive;
      });
      expect(new Set(seen.map(({ version }) => version)).size).toBe(1);
      expect(seen.flatMap(({ leads }) => leads)).toContain('projection');
      const { findings } = (await call('GET', '/v1/doctor')) as {
        findings: { check: string; state: string }[];
      };
      const stateOf = (check: string) => findings.find((finding) => finding.check === check)?.state;
      // Stacks of tests run without fsync, and doctor says so.
      expect(stateOf('postgres.fsync')).toBe('fault');
      for (const check of ['service.agent-runner', 'service.process-watcher', 'nats']) {
        expect([check, stateOf(check)]).toEqual([check, 'ok']);
      }
    });
  });
}
