import type { Finding } from '@angelia/doctor';
import { baseUrlOf } from '../api/connection.ts';
import { defineCommand } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { configEnvironment } from '../local-stack/config-environment.ts';

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'check everything that Angelia depends on, and say what to do',
  description:
    'It checks config and environment, Postgres and its settings, NATS and its limits, the services, clocks and disk. It checks ' +
    'credentials of targets, models and MCP servers with a call that sends no message to anybody. It looks at the last hour: ' +
    'dead deliveries, failed sessions, refused webhooks and models that are down, each by reason. It changes nothing. On the ' +
    'machine of the local stack it needs no settings. Elsewhere, give it the environment of the services (DATABASE_URL, ' +
    'NATS_URL and what the config names). Exit code 1 means that something is wrong.',
  options: {
    admin: {
      value: 'service=url',
      many: true,
      summary: 'the admin port of a service outside the local stack',
    },
    'from-ingress': {
      summary: 'let ingress make the checks where it runs; without calls to targets, models and MCP servers',
    },
    timeout: { value: 'time', summary: 'limit for each check (5s)' },
  },
  examples: [
    { command: 'angelia doctor', does: 'everything' },
    {
      command: `angelia doctor --json | jq '.findings[] | select(.state == "fault")'`,
      does: 'for a script: only what is wrong',
    },
  ],
  calls: ['get /v1/doctor'],
  run: async ({ api, given, out, runtime }) => {
    if (given.switch('from-ingress')) {
      const { renderFindings } = await import('@angelia/doctor');
      const found = await api().get<{ healthy: boolean; findings: Finding[] }>('/v1/doctor');
      out.answer(found, () => renderFindings(found.findings).join('\n'));
      return found.healthy ? undefined : EXIT.failed;
    }
    const [{ isHealthy, renderFindings }, { examine }] = await Promise.all([
      import('@angelia/doctor'),
      import('../doctor/examine.ts'),
    ]);
    const timeoutMs = given.duration('timeout');
    const named = given.text('url') ?? runtime.env.ANGELIA_URL;
    const findings = await examine({
      env: configEnvironment(runtime),
      adminUrls: Object.fromEntries(given.texts('admin').map(adminUrl)),
      // Without an address, examine finds the port that a local stack chose.
      ...(named ? { ingressUrl: baseUrlOf(runtime, given).href.replace(/\/$/, '') } : {}),
      ...(timeoutMs === null ? {} : { timeoutMs }),
      now: runtime.now,
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
    `--admin ${pair}: give a service and its URL, such as delivery=http://10.0.0.3:9464`,
  );
}
