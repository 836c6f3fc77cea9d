import type { AgentConfig, Config, ConfigProblem, RouteConfig } from '@angelia/contracts';
import type { z } from 'zod';
import { signerOf } from '../secrets/webhook-signature.ts';
import { isKnownTarget, knownTargets, targetSchema, templateProblems } from '../targets/targets.ts';
import { routePatternProblems } from './patterns.ts';

export const INSECURE_NO_AUTH = 'INSECURE_NO_AUTH';

/**
 * Below it a secret is refused. Nobody's secret is this short by choice: it is an empty variable with something around it, or a
 * placeholder. Higher would break what senders were given long ago, and cannot be changed from here.
 */
const FEWEST_SECRET_CHARACTERS = 6;
/** Below it a secret is warned of: with 16 letters and digits nobody guesses it. */
const GOOD_SECRET_CHARACTERS = 16;

/** What one part of the config says about another: names that must exist, parts that must fit. */
export function crossReferenceProblems(config: Config, listenHost: string): ConfigProblem[] {
  return [
    ...Object.entries(config.agents).flatMap(([name, agent]) => agentProblems(config, name, agent)),
    ...Object.entries(config.targets).flatMap(([name, options]) => targetProblems(name, options)),
    ...Object.entries(config.routes).flatMap(([name, route]) => [
      ...routeAgentProblems(config, name, route),
      ...routeTargetProblems(config, name, route),
      ...routeSecretProblems(config, name, route, listenHost),
      ...deliverOnlyProblems(name, route),
      ...scriptProblems(name, route),
      ...keyProblems(name, route),
      ...routePatternProblems(`routes.${name}.filters`, route.filters),
    ]),
    ...secretProblems('secret', config.secret, listenHost),
    ...unknownToolsets(config, 'api_routes.allowed_toolsets', config.api_routes.allowed_toolsets),
  ];
}

function agentProblems(config: Config, name: string, agent: Config['agents'][string]): ConfigProblem[] {
  const place = `agents.${name}`;
  if (agent.kind === 'http') return signingProblems(`${place}.secret`, agent.secret);
  if (agent.kind !== 'llm') return [];
  const unknownModel = (model: string): boolean => !Object.hasOwn(config.models, model);
  const problems: ConfigProblem[] = [];
  if (agent.model === undefined) {
    problems.push({ place: `${place}.model`, reason: 'an agent of kind llm needs a model' });
  }
  if (agent.model !== undefined && unknownModel(agent.model)) {
    problems.push({
      place: `${place}.model`,
      reason: unknown('model', agent.model, Object.keys(config.models)),
    });
  }
  agent.fallback_models.forEach((model, index) => {
    if (unknownModel(model)) {
      problems.push({
        place: `${place}.fallback_models.${index}`,
        reason: unknown('model', model, Object.keys(config.models)),
      });
    }
  });
  return [...problems, ...unknownToolsets(config, `${place}.toolsets`, agent.toolsets)];
}

/** A route's are a part of its agent's, so that these two places are enough. */
function unknownToolsets(config: Config, place: string, toolsets: readonly string[]): ConfigProblem[] {
  const known = ['terminal', 'clarify', ...Object.keys(config.mcp_servers).map((server) => `mcp:${server}`)];
  return toolsets
    .filter((toolset) => !known.includes(toolset))
    .map((toolset) => ({ place, reason: unknown('toolset', toolset, known) }));
}

/** One that cannot sign would fail every run. */
function signingProblems(place: string, secret: string): ConfigProblem[] {
  try {
    signerOf(secret);
    return [];
  } catch (error) {
    return [{ place, reason: error instanceof Error ? error.message : String(error) }];
  }
}

function targetProblems(name: string, options: unknown): ConfigProblem[] {
  const place = `targets.${name}`;
  if (!isKnownTarget(name)) return [{ place, reason: unknown('target', name, knownTargets) }];
  return schemaProblems(targetSchema(name).options, options, place);
}

/** Own names only: every object has a `constructor`, and no agent is meant by it. */
export function agentNamed(config: Config, name: string): Config['agents'][string] | undefined {
  return Object.hasOwn(config.agents, name) ? config.agents[name] : undefined;
}

/** Programs and services bring their own tools. */
export function toolsetsOf(agent: AgentConfig): readonly string[] {
  return agent.kind === 'llm' ? agent.toolsets : [];
}

function routeAgentProblems(config: Config, name: string, route: RouteConfig): ConfigProblem[] {
  if (route.deliver_only) return [];
  const agent = agentNamed(config, route.agent);
  if (agent === undefined) {
    return [
      { place: `routes.${name}.agent`, reason: unknown('agent', route.agent, Object.keys(config.agents)) },
    ];
  }
  const own = toolsetsOf(agent);
  return (route.toolsets ?? [])
    .filter((toolset) => !own.includes(toolset))
    .map((toolset) => ({
      place: `routes.${name}.toolsets`,
      reason: `\`${toolset}\` is none of the toolsets of agent \`${route.agent}\`, of which a route's must be a part`,
    }));
}

function routeTargetProblems(config: Config, name: string, route: RouteConfig): ConfigProblem[] {
  const place = `routes.${name}`;
  const { deliver, deliver_extra, fallback_target: fallback } = route;
  return [
    ...deliverProblems(config, place, deliver, deliver_extra),
    ...(fallback === undefined
      ? []
      : deliverProblems(config, `${place}.fallback_target`, fallback.deliver, fallback.deliver_extra)),
    ...editProblems(place, route),
  ];
}

function deliverProblems(
  config: Config,
  place: string,
  target: string,
  extra: Readonly<Record<string, unknown>>,
): ConfigProblem[] {
  if (!isKnownTarget(target)) {
    return [{ place: `${place}.deliver`, reason: unknown('target', target, knownTargets) }];
  }
  return [
    // What stands there is checked by itself; here it is that nothing does, and the target cannot do without.
    ...(config.targets[target] === undefined
      ? schemaProblems(targetSchema(target).options, {}, `targets.${target}`).map((missing) => ({
          place: `${place}.deliver`,
          reason: `target \`${target}\` is not configured: set \`${missing.place}\``,
        }))
      : []),
    ...templateProblems(config, target, extra).map(({ key, reason }) => ({
      place: key === '' ? `${place}.deliver_extra` : `${place}.deliver_extra.${key}`,
      reason,
    })),
  ];
}

function editProblems(place: string, { deliver, interim }: RouteConfig): ConfigProblem[] {
  if (interim !== 'edit' || !isKnownTarget(deliver) || targetSchema(deliver).edits) return [];
  const able = knownTargets.filter((name) => targetSchema(name).edits);
  const reason = `target \`${deliver}\` cannot edit what it sent (${able.join(', ') || 'none'} can): use \`message\` or \`off\``;
  return [{ place: `${place}.interim`, reason }];
}

/** What only an agent could heed. Accepted and ignored it would look as if it did something (no-silent-downgrade). */
const AGENT_KEYS = ['toolsets', 'coalesce', 'session_key', 'on_busy', 'max_concurrency'] as const;

function deliverOnlyProblems(name: string, route: RouteConfig): ConfigProblem[] {
  if (!route.deliver_only) return [];
  const place = `routes.${name}`;
  const useless = [
    ...AGENT_KEYS.filter((key) => route[key] !== undefined),
    ...(route.skills.length > 0 ? ['skills'] : []),
  ];
  return [
    ...(route.deliver === 'log'
      ? [
          {
            place: `${place}.deliver`,
            reason: '`deliver_only` sends the rendered prompt to a target, and `log` is none: set `deliver`',
          },
        ]
      : []),
    ...useless.map((key) => ({
      place: `${place}.${key}`,
      reason: 'no agent works on a route with `deliver_only`: remove one of the two',
    })),
  ];
}

function scriptProblems(name: string, route: RouteConfig): ConfigProblem[] {
  if (route.script !== undefined || route.retry_on_script_failure !== true) return [];
  return [
    { place: `routes.${name}.retry_on_script_failure`, reason: 'the route has no `script` that could fail' },
  ];
}

function keyProblems(name: string, route: RouteConfig): ConfigProblem[] {
  const { coalesce, session_key, on_busy } = route;
  const place = `routes.${name}`;
  const problems: ConfigProblem[] = [];
  if (on_busy !== undefined && session_key === undefined) {
    problems.push({
      place: `${place}.on_busy`,
      reason: 'without `session_key` every webhook is a session of its own, and none is ever busy: set it',
    });
  }
  if (coalesce !== undefined && session_key !== undefined && coalesce.key !== session_key) {
    problems.push({
      place: `${place}.coalesce.key`,
      reason: 'must be the same as `session_key`: what is coalesced are the turns of that session',
    });
  }
  if (coalesce !== undefined && coalesce.max_wait_seconds < coalesce.window_seconds) {
    problems.push({
      place: `${place}.coalesce.max_wait_seconds`,
      reason: 'is shorter than `window_seconds`, which could then never pass: make it at least as long',
    });
  }
  return problems;
}

function routeSecretProblems(
  config: Config,
  name: string,
  route: RouteConfig,
  listenHost: string,
): ConfigProblem[] {
  const place = `routes.${name}.secret`;
  if (route.secret === undefined && config.secret === undefined) {
    return [{ place, reason: 'a route needs a secret: set it here, or `secret` at the top for all routes' }];
  }
  if (route.auth === 'twilio' && config.public_url === undefined) {
    return [
      {
        place: `routes.${name}.auth`,
        reason:
          'Twilio signs the address that it calls: set `public_url` at the top to where senders reach us',
      },
    ];
  }
  return secretProblems(place, route.secret, listenHost);
}

function secretProblems(
  place: string,
  secret: string | string[] | undefined,
  listenHost: string,
): ConfigProblem[] {
  const secrets = secret === undefined ? [] : [secret].flat();
  if (secrets.some((each) => charactersOf(each) < FEWEST_SECRET_CHARACTERS)) {
    const reason =
      `a secret has at least ${FEWEST_SECRET_CHARACTERS} characters beside blanks and the prefix \`whsec_\`: ` +
      'choose one that nobody can guess, for example by `openssl rand -base64 32`';
    return [{ place, reason }];
  }
  if (!secrets.includes(INSECURE_NO_AUTH)) return [];
  if (secrets.length > 1) {
    return [
      { place, reason: `${INSECURE_NO_AUTH} beside real secrets would make them worthless: remove it` },
    ];
  }
  if (isLoopback(listenHost)) return [];
  return [
    {
      place,
      reason: `${INSECURE_NO_AUTH} is for loopback only, and ANGELIA_HOST is ${listenHost}: set a secret`,
    },
  ];
}

/** Of a secret that is taken: whether its operator should hear that it is short. */
export function isShortSecret(secret: string): boolean {
  return secret !== INSECURE_NO_AUTH && charactersOf(secret) < GOOD_SECRET_CHARACTERS;
}

function charactersOf(secret: string): number {
  return secret.replace(/^whsec_/, '').replace(/\s/g, '').length;
}

export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return bare === 'localhost' || bare === '::1' || /^127(\.\d{1,3}){3}$/.test(bare);
}

function schemaProblems(schema: z.ZodType, value: unknown, place: string): ConfigProblem[] {
  const parsed = schema.safeParse(value);
  if (parsed.success) return [];
  return parsed.error.issues.flatMap((issue): ConfigProblem[] => {
    const path = [place, ...issue.path.map(String)].join('.');
    if (issue.code !== 'unrecognized_keys') return [{ place: path, reason: issue.message }];
    return issue.keys.map((key) => ({ place: `${path}.${key}`, reason: `unknown key \`${key}\`` }));
  });
}

function unknown(what: string, name: string, known: readonly string[]): string {
  return `no ${what} is named \`${name}\` (there ${known.length === 1 ? 'is' : 'are'} ${known.join(', ') || 'none'})`;
}
