import { defineCommand } from '../command.ts';
import { configEnvironment } from '../config-environment.ts';
import { baseUrlOf } from '../connection.ts';
import { CliError, EXIT } from '../exit.ts';

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'look whether everything that Angelia stands on is well, and say what to do',
  description:
    'Config and environment, Postgres and its settings, NATS and its limits, the services, clocks, disk; credentials of targets, ' +
    'models and MCP servers by a call that sends nobody a message. It changes nothing. On the machine of the local stack it ' +
    'needs no setting; elsewhere give it the environment of the services (DATABASE_URL, NATS_URL and what the config names). ' +
    'Exit code 1: there is a fault.',
  options: {
    admin: {
      value: 'service=url',
      many: true,
      summary: 'where the admin port of a service is, when it is not of a local stack',
    },
    timeout: { value: 'time', summary: 'for one question to anybody (5s)' },
  },
  examples: [
    { command: 'angelia doctor', does: 'everything' },
    {
      command: `angelia doctor --json | jq '.findings[] | select(.state == "fault")'`,
      does: 'for a script: only what is wrong',
    },
  ],
  run: async ({ given, out, world }) => {
    const { examine, isHealthy, renderFindings } = await import('../doctor/index.ts');
    const timeoutMs = given.duration('timeout');
    const named = given.text('url') ?? world.env.ANGELIA_URL;
    const findings = await examine({
      env: configEnvironment(world),
      adminUrls: Object.fromEntries(given.texts('admin').map(adminUrl)),
      // Not named: examine finds the port that a local stack picked.
      ...(named ? { ingressUrl: baseUrlOf(world, given).href.replace(/\/$/, '') } : {}),
      ...(timeoutMs === null ? {} : { timeoutMs }),
      now: world.now,
    });
    const healthy = isHealthy(findings);
    out.answer({ healthy, findings }, () => renderFindings(findings).join('\n'));
    return healthy ? undefined : EXIT.failed;
  },
});

function adminUrl(pair: string): [service: string, url: string] {
  const [service = '', url = ''] = pair.split(/=(.*)/s);
  if (service !== '' && URL.canParse(url)) return [service, url];
  throw new CliError(
    EXIT.usage,
    `--admin ${pair}: a service and its URL are wanted, as delivery=http://10.0.0.3:9464`,
  );
}
