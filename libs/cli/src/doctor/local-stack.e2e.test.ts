import { join } from 'node:path';
import { renderFindings } from '@angelia/doctor';
import { eventually, startTelegram, withTestStack } from '@angelia/testkit';
import { expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { importHermes } from '../hermes/import.ts';
import { runRecorded } from '../testing/run-recorded.ts';
import { examine } from './examine.ts';

const TOKEN = '123456:a-token-of-the-bot';
const SECRET = 'the-secret-of-the-subscription';

// What Hermes sends for this template and payload: paths, a missing value, an object as indented JSON, a dollar sign.
const PROMPT = `#{number} {pull.title} costs $\{number} {pull.nothing} {pull.labels} {__raw__}`;
const PAYLOAD = { number: 7, pull: { title: 'Mend it', labels: ['a', 'b'] } };
const SENT = `#7 Mend it costs $7 {pull.nothing} ${JSON.stringify(['a', 'b'], null, 2)} ${JSON.stringify(PAYLOAD, null, 2)}`;

/** The stack of a user who comes from Hermes. Only the platform is a stand-in. */
function fromHermes(telegramUrl: string): { config: string; env: Record<string, string> } {
  const { yaml, environment } = importHermes({
    configText: stringify({ platforms: { webhook: { enabled: true, extra: { routes: {} } } } }),
    subscriptionsText: JSON.stringify({
      hook: {
        secret: SECRET,
        prompt: PROMPT,
        deliver: 'telegram',
        deliver_only: true,
        deliver_extra: { chat_id: '9' },
      },
    }),
    envText: `TELEGRAM_BOT_TOKEN=${TOKEN}`,
  });
  const config = parse(yaml);
  config.targets.telegram.api_base = telegramUrl;
  // Its agent asks questions, and doctor warns of links that only this machine can open.
  config.public_url = 'https://hooks.example.com';
  return {
    config: stringify(config),
    env: Object.fromEntries(environment.map(({ name, value }) => [name, value ?? ''])),
  };
}

it('a local stack has no findings with only its data directory given, imported routes of Hermes work on it, and a stopped service is named', async () => {
  const telegram = await startTelegram({ token: TOKEN });
  const { config, env: secrets } = fromHermes(telegram.url);
  try {
    await withTestStack({ config, env: secrets, durable: true }, async (stack) => {
      const env = {
        ...secrets,
        ANGELIA_DATA: stack.dataDir,
        ANGELIA_CONFIG: join(stack.dataDir, 'angelia.yaml'),
      };
      const wrong = async () =>
        (await examine({ env })).filter(({ state }) => state === 'fault' || state === 'warning');
      // All four loops have a leader a moment after the services are ready.
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
        ...['nats', 'nats.jetstream', 'nats.stream', 'nats.consumers', 'target.telegram'],
        ...['service.ingress', 'service.agent-runner', 'service.delivery', 'service.process-watcher'],
      ]) {
        expect([check, state(check)]).toEqual([check, 'ok']);
      }
      const text = JSON.stringify(findings);
      for (const secret of [TOKEN, new URL(stack.postgresUrl).password, new URL(stack.natsUrl).password]) {
        expect(text).not.toContain(secret);
      }

      const told = await runRecorded(['doctor'], { env });
      expect([told.code, told.stdout]).toEqual([0, expect.stringMatching(/0 faults, 0 warnings, \d+ ok/)]);

      const accepted = await stack.post({ secret: SECRET, body: PAYLOAD });
      expect(accepted.status).toBe(202);
      await eventually(() => telegram.shownIn('9').length === 1);
      // Read from the log, because the chat has the text in Telegram's format.
      const events = await stack.events(String(accepted.body.session_id));
      expect(events.find(({ type }) => type === 'session.final-response')?.data.text).toBe(SENT);

      await stack.hold('delivery');
      const gone = await eventually(async () => {
        const found = await wrong();
        return found.some(({ check }) => check === 'service.delivery') && found;
      });
      expect(gone.filter(({ check }) => check.startsWith('service.')).map(({ check }) => check)).toEqual([
        'service.delivery',
      ]);
      const faulty = await runRecorded(['doctor'], { env });
      expect([faulty.code, faulty.stdout]).toEqual([1, expect.stringMatching(/^FAULT +service\.delivery/m)]);
    });
  } finally {
    await telegram.stop();
  }
});
