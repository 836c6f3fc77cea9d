import { type Finding, fault, ok, reasonOf, skipped, warning } from './finding.ts';
import { isService, type LocalStack, SERVICES } from './local-stack.ts';

export interface ServicesOptions {
  readonly local: LocalStack;
  /** Base URLs of admin ports by instance, for services outside a local stack. */
  readonly adminUrls: Readonly<Record<string, string>>;
  /** Where ingress may listen, the most likely first. */
  readonly ingressUrls: readonly string[];
  readonly timeoutMs: number;
}

export async function servicesFindings(options: ServicesOptions): Promise<Finding[]> {
  const [ingress, others] = await Promise.all([ingressFinding(options), adminFindings(options)]);
  return [ingress, ...others];
}

/** The number of service processes, running or not. Each uses connections to Postgres. */
export function countServices(local: LocalStack, adminUrls: Readonly<Record<string, string>>): number {
  const known = Math.max(instancesOf(local).length, Object.keys(adminUrls).length);
  return Math.max(known, SERVICES.length);
}

async function ingressFinding({ ingressUrls, timeoutMs }: ServicesOptions): Promise<Finding> {
  const check = 'ingress';
  let first: Finding | undefined;
  for (const url of ingressUrls) {
    const [finding] = await readyFindings(check, url, timeoutMs);
    if (finding?.state === 'ok') return finding;
    first ??= finding;
  }
  return first ?? skipped(check, 'its address is unknown: set ANGELIA_HOST and ANGELIA_PORT');
}

async function adminFindings({ local, adminUrls, timeoutMs }: ServicesOptions): Promise<Finding[]> {
  const instances = instancesOf(local);
  const urls = { ...adminUrls };
  for (const { name, adminPort } of instances) {
    if (adminPort !== undefined) urls[name] ??= `http://127.0.0.1:${adminPort}`;
  }
  if (Object.keys(urls).length === 0) {
    return [
      skipped(
        'services',
        'their admin ports are unknown: there is no local stack in ANGELIA_DATA, and no --admin option',
      ),
    ];
  }
  const names = new Set([...SERVICES, ...Object.keys(urls)]);
  const found = await Promise.all(
    [...names].map(async (name) => {
      const check = `service.${name}`;
      const url = urls[name];
      const program = instances.find((one) => one.name === name);
      if (url === undefined) return [fault(check, 'is not running', startIt(name))];
      if (program !== undefined && !program.running)
        return [fault(check, 'its process has ended', startIt(name))];
      return readyFindings(check, url, timeoutMs);
    }),
  );
  return found.flat();
}

const startIt = (name: string) =>
  `start it (\`npm start\` starts all services); logs/${name}.log says why it ended`;

/** For a service elsewhere, as in Kubernetes: nothing on this machine starts it. */
const REACH_IT =
  'check that it runs and that this machine may reach it (in Kubernetes: `kubectl get pods`, its logs, the network policies), or name another address with --url or ANGELIA_URL';

function isHere(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}

function instancesOf({ programs }: LocalStack) {
  return (programs ?? []).filter(({ name }) => SERVICES.some((service) => isService(service, name)));
}

/** The first one says whether the service is ready. */
async function readyFindings(check: string, base: string, timeoutMs: number): Promise<Finding[]> {
  let answer: { status: number; body: unknown };
  try {
    const response = await fetch(`${base.replace(/\/+$/, '')}/readyz`, {
      signal: AbortSignal.timeout(timeoutMs),
    });
    answer = { status: response.status, body: await response.json().catch(() => null) };
  } catch (error) {
    const todo = isHere(base) ? startIt(check.replace(/^service\./, '')) : REACH_IT;
    return [fault(check, `does not answer at ${base}: ${reasonOf(error)}`, todo)];
  }
  const ready =
    answer.status === 200
      ? ok(check, `ready at ${base}${isolationOf(answer.body)}`)
      : fault(
          check,
          `is not ready: ${unready(answer)}`,
          'fix what it names; then it becomes ready by itself',
        );
  return [ready, ...configFindings(check, answer.body), ...modelsDown(check, answer.body)];
}

/** What a service says about the config that it works with. */
function configFindings(check: string, body: unknown): Finding[] {
  const {
    in_force: inForce,
    problems = [],
    restart_needed: keys = [],
    not_kept: notKept,
  } = (body as { checks?: { config?: ConfigState } } | null)?.checks?.config ?? {};
  const name = check.replace(/^service\./, '');
  return [
    ...(inForce === 'last_good'
      ? [
          fault(
            `${check}.config`,
            `works with the last good config, because the file is wrong: ${problems.join('; ')}`,
            'correct the file; the service then takes it by itself',
          ),
        ]
      : []),
    ...(keys.length > 0
      ? [
          warning(
            `${check}.config`,
            `still uses the old value of ${keys.join(', ')}, which cannot change while it runs`,
            keys.some((key) => key.endsWith('(.env)'))
              ? 'stop everything and start it again: `npm start` reads .env only once'
              : `restart it: \`angelia restart ${name}\``,
          ),
        ]
      : []),
    ...(notKept === undefined
      ? []
      : [
          warning(
            `${check}.config`,
            `could not keep a copy of the config (${notKept}): while the file is wrong, a restart would fail`,
            'set ANGELIA_DATA of this service to a directory that it can write and that outlives its process',
          ),
        ]),
  ];
}

interface ConfigState {
  readonly in_force?: string;
  readonly problems?: readonly string[];
  readonly restart_needed?: readonly string[];
  readonly not_kept?: string;
}

/** Only agent-runner reports them: the models that its sessions wait for. */
function modelsDown(check: string, body: unknown): Finding[] {
  const { down } = (body as { checks?: { models?: { down?: unknown } } } | null)?.checks?.models ?? {};
  if (!Array.isArray(down)) return [];
  return (down as Readonly<Record<string, unknown>>[]).map(({ model, reason, since, message }) => {
    const name = `${check}.model.${String(model)}`;
    const what = `cannot be used since ${String(since)}, and its sessions wait: ${String(message)}`;
    return reason === 'configuration'
      ? fault(
          name,
          what,
          `correct the key, base_url or model of models.${String(model)}; the sessions continue by themselves`,
        )
      : warning(
          name,
          what,
          'wait for the provider, or add fallback_models; the sessions continue by themselves',
        );
  });
}

/** Only process-watcher reports it. */
function isolationOf(body: unknown): string {
  const { isolation } =
    (body as { checks?: { commands?: { isolation?: unknown } } } | null)?.checks?.commands ?? {};
  return typeof isolation === 'string' ? `; isolation of commands: ${isolation}` : '';
}

function unready({ status, body }: { status: number; body: unknown }): string {
  const checks =
    (body as { checks?: Record<string, { ok?: unknown; reason?: unknown }> } | null)?.checks ?? {};
  const failed = Object.entries(checks).filter(([, result]) => result?.ok !== true);
  return failed.length === 0
    ? `HTTP ${status}`
    : failed.map(([name, result]) => `${name}: ${String(result?.reason ?? 'not ok')}`).join(', ');
}
