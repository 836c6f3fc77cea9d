import { join } from 'node:path';
import { eventually, startTelegram, testConfig, withTestStack } from '@angelia/testkit';
import { expect, it } from '@jest/globals';
import { examine } from './examine.ts';
import { renderFindings } from './render.ts';

const TOKEN = '123456:a-token-of-the-bot';

it('a local stack is green, with nothing but its data directory known, and each service that goes is named', async () => {
  const telegram = await startTelegram({ token: TOKEN });
  const config = testConfig({
    sinkUrl: 'http://127.0.0.1:9/unused',
    targets: { telegram: { bot_token: TOKEN, api_base: telegram.url, chat_id: '1' } },
  });
  try {
    await withTestStack({ config, durable: true }, async (stack) => {
      const env = { ANGELIA_DATA: stack.dataDir, ANGELIA_CONFIG: join(stack.dataDir, 'angelia.yaml') };
      // A config file of a test is written with the umask's mode, and its secrets stand in it.
      const wrong = async () =>
        (await examine({ env })).filter(
          ({ check, state }) => (state === 'fault' || state === 'warning') && check !== 'config.mode',
        );
      // All four duties are led a moment after the services are ready.
      let left = await wrong();
      await eventually(
        async () => {
          left = await wrong();
          return left.length === 0;
        },
        { describe: () => renderFindings(left).join('\n') },
      );
      const findings = await examine({ env });
      const state = (check: string) => findings.find((one) => one.check === check)?.state;
      for (const check of [
        ...[
          'node',
          'disk',
          'config',
          'environment',
          'master-key',
          'clock',
          'duties',
          'dead-letters',
          'ingress',
        ],
        ...[
          'postgres',
          'postgres.fsync',
          'postgres.schema',
          'postgres.cluster',
          'postgres.roles',
          'lag.tail',
        ],
        ...['nats', 'nats.jetstream', 'nats.stream', 'nats.consumers', 'target.telegram', 'target.http'],
        ...['service.ingress', 'service.agent-runner', 'service.delivery', 'service.process-watcher'],
      ]) {
        expect([check, state(check)]).toEqual([check, 'ok']);
      }
      const text = JSON.stringify(findings);
      for (const secret of [TOKEN, new URL(stack.postgresUrl).password, new URL(stack.natsUrl).password]) {
        expect(text).not.toContain(secret);
      }

      await stack.hold('delivery');
      const gone = await eventually(async () => {
        const found = await wrong();
        return found.some(({ check }) => check === 'service.delivery') && found;
      });
      expect(gone.filter(({ check }) => check.startsWith('service.')).map(({ check }) => check)).toEqual([
        'service.delivery',
      ]);
    });
  } finally {
    await telegram.stop();
  }
});
