import { isService, SERVICES } from '@angelia/doctor/local-stack';
import { type Context, defineCommand } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { dataDirectory } from '../local-stack/files.ts';
import { servicesIn } from '../local-stack/local-stack.ts';
import { restartService } from '../local-stack/restart-service.ts';

/** ANGELIA_DRAIN_SECONDS (30), and a start on a busy machine. */
const DEFAULT_TIMEOUT_MS = 90_000;

export const restart = defineCommand({
  name: 'restart',
  summary: 'restart services of the local stack, one after the other',
  description:
    'Each service finishes its work or hands it over (ANGELIA_DRAIN_SECONDS), ends, and is started again by the launcher with ' +
    'the same port. The next one follows when it is ready. Nothing accepted is lost. Postgres and NATS keep running. In ' +
    'containers, use `docker compose restart` or `kubectl rollout restart`.',
  arguments: [
    {
      name: 'service',
      optional: true,
      many: true,
      summary: `${SERVICES.join(', ')}; a replica, such as agent-runner-2; without one, all services`,
    },
  ],
  options: { timeout: { value: 'time', summary: 'limit for each service (90s)' } },
  examples: [
    { command: 'angelia restart', does: 'all services, for a change that needs it' },
    { command: 'angelia restart process-watcher', does: 'one service' },
  ],
  run: async (context) => {
    const { given, out, runtime } = context;
    const timeoutMs = given.duration('timeout') ?? DEFAULT_TIMEOUT_MS;
    for (const service of chosen(context)) {
      const restarted = await restartService(dataDirectory(runtime), service, {
        timeoutMs,
        signal: runtime.signal,
      });
      out.item(restarted, () => `${service.name} restarted (${restarted.seconds.toFixed(1)} s)`);
    }
    return undefined;
  },
});

function chosen({ given, runtime }: Context) {
  const dataDir = dataDirectory(runtime);
  const running = servicesIn(dataDir);
  if (running.length === 0) {
    throw new CliError(
      EXIT.notFound,
      `no local stack runs in ${dataDir}`,
      'start it with `npm start`, or set ANGELIA_DATA to its data directory',
    );
  }
  const names = given.argumentsFrom('service');
  for (const name of names) {
    if (running.some((one) => one.name === name || isService(name, one.name))) continue;
    throw new CliError(
      EXIT.notFound,
      `there is no service ${name}: there are ${running.map((one) => one.name).join(', ')}`,
    );
  }
  return running.filter(
    ({ name }) => names.length === 0 || names.some((wanted) => wanted === name || isService(wanted, name)),
  );
}
