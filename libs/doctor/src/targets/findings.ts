import { lookup } from 'node:dns/promises';
import { isConfigured, isKnownTarget, type KnownTarget, targetOptions, VariableText } from '@angelia/config';
import type { Config } from '@angelia/contracts';
import { type DryAnswer, dryCall } from '../dry-call.ts';
import { type Finding, fault, ok, reasonOf, skipped, warning } from '../finding.ts';
import { emailFinding } from './email.ts';
import { type Platform, platforms } from './platforms.ts';

/** Checks the targets that are configured or that a route delivers to. */
export async function targetsFindings(config: Config, timeoutMs: number): Promise<Finding[]> {
  const used = new Set([
    ...Object.keys(config.targets),
    ...Object.values(config.routes).flatMap(({ deliver, fallback_target }) =>
      fallback_target === undefined ? [deliver] : [deliver, fallback_target.deliver],
    ),
  ]);
  const names = [...used].filter(isKnownTarget).filter((name) => isConfigured(config, name));
  return (await Promise.all(names.map((name) => targetFindings(config, name, timeoutMs)))).flat();
}

async function targetFindings(config: Config, name: KnownTarget, timeoutMs: number): Promise<Finding[]> {
  const check = `target.${name}`;
  switch (name) {
    case 'log':
      return [];
    case 'http':
      return httpFindings(check, config);
    case 'email':
      return [await emailFinding(check, targetOptions(config, name), timeoutMs)];
    default:
      return [await askPlatform(check, config, name, timeoutMs)];
  }
}

async function askPlatform<T extends keyof typeof platforms>(
  check: string,
  config: Config,
  name: T,
  timeoutMs: number,
): Promise<Finding> {
  const platform: Platform<T> = platforms[name];
  const answer = await dryCall(platform.call(targetOptions(config, name)), timeoutMs);
  return judge(check, `targets.${name}`, platform, answer);
}

type AskedPlatform = Pick<Platform<KnownTarget>, 'credential' | 'refusals' | 'owner' | 'message'>;

function judge(check: string, place: string, platform: AskedPlatform, answer: DryAnswer): Finding {
  if (answer.kind === 'unreachable') {
    return fault(
      check,
      `cannot be reached: ${answer.reason}`,
      `let this machine reach it (DNS, firewall, proxy), or correct ${place}.api_base`,
    );
  }
  const { status, body } = answer;
  const message = platform.message(body);
  const words = typeof message === 'string' ? `HTTP ${status}, ${message}` : `HTTP ${status}`;
  if (status === 429 || status >= 500) {
    return warning(check, `cannot answer now (${words})`, 'run doctor again later');
  }
  const owner = status >= 200 && status < 300 ? platform.owner(body) : null;
  if (owner !== null) {
    return ok(
      check,
      owner === 'known' ? 'the credential is valid' : `the credential is valid and belongs to ${owner}`,
    );
  }
  if (platform.refusals.includes(status) || status === 200) {
    return fault(
      check,
      `the credential was refused (${words})`,
      `set ${place}.${platform.credential} to a valid credential`,
    );
  }
  return fault(
    check,
    `the server does not answer like this platform (${words})`,
    `correct ${place}.api_base`,
  );
}

/** A request would be a delivery, so this only looks up the addresses of the hosts. */
async function httpFindings(check: string, config: Config): Promise<Finding[]> {
  const hosts = new Set(
    Object.values(config.routes)
      .flatMap(({ deliver, deliver_extra, fallback_target }) => [
        { deliver, extra: deliver_extra },
        ...(fallback_target === undefined
          ? []
          : [{ deliver: fallback_target.deliver, extra: fallback_target.deliver_extra }]),
      ])
      .flatMap(({ deliver, extra }) => (deliver === 'http' ? hostOf(extra.url) : [])),
  );
  if (hosts.size === 0) return [skipped(check, 'the hosts are known only when a webhook arrives')];
  return Promise.all(
    [...hosts].map(async (host) => {
      try {
        await lookup(host.replace(/^\[(.*)\]$/, '$1'));
        return ok(check, `${host} has an address (nothing was sent to it)`);
      } catch (error) {
        return fault(
          check,
          `${host} has no address: ${reasonOf(error)}`,
          "correct the route's deliver_extra.url, or the DNS",
        );
      }
    }),
  );
}

function hostOf(written: unknown): string[] {
  const url = written instanceof VariableText ? written.resolved() : written;
  if (typeof url !== 'string' || !URL.canParse(url)) return [];
  const { hostname } = new URL(url);
  return /[{}]|%7b/i.test(hostname) ? [] : [hostname];
}
