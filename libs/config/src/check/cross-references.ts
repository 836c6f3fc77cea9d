import { type Config, type ConfigProblem, type RouteConfig, validate } from '@angelia/contracts';
import { PLACEHOLDER } from '../placeholder.ts';
import { templateProblems } from '../targets/addresses.ts';
import { isKnownTarget, type KnownTarget, knownTargets, targetSchema } from '../targets/schemas.ts';
import { agentProblems, routeAgentProblems, unknownToolsets } from './agents.ts';
import { chatProblems } from './chats.ts';
import { routePatternProblems } from './patterns.ts';
import { schemeSecretProblems } from './scheme-secrets.ts';
import { routeSecretProblems, secretProblems } from './secrets.ts';
import { toolRuleProblems } from './tool-rules.ts';
import { unknownName } from './unknown-name.ts';

/**
 * Checks what one part of the config says about another: names that must exist, parts that must fit.
 *
 * @param writtenTargets `targets` as the file has it, before variables were filled in: problems quote values from it
 */
export function crossReferenceProblems(
  config: Config,
  listenHost: string,
  writtenTargets: Readonly<Record<string, unknown>> = {},
): ConfigProblem[] {
  return [
    ...Object.entries(config.agents).flatMap(([name, agent]) => agentProblems(config, name, agent)),
    ...Object.entries(config.targets).flatMap(([name, options]) =>
      targetProblems(name, options, writtenTargets[name]),
    ),
    ...Object.entries(config.routes).flatMap(([name, route]) => [
      ...routeAgentProblems(config, name, route),
      ...routeTargetProblems(config, name, route),
      ...routeSecretProblems(config, name, route, listenHost),
      ...schemeSecretProblems(config, name, route),
      ...deliveryIdProblems(name, route),
      ...deliverOnlyProblems(name, route),
      ...scriptProblems(name, route),
      ...keyProblems(name, route),
      ...routePatternProblems(`routes.${name}.filters`, route.filters),
    ]),
    ...chatProblems(config),
    ...toolRuleProblems(config),
    ...secretProblems('secret', config.secret, listenHost),
    ...unknownToolsets(config, 'api_routes.allowed_toolsets', config.api_routes.allowed_toolsets),
  ];
}

function targetProblems(name: string, options: unknown, written: unknown): ConfigProblem[] {
  const place = `targets.${name}`;
  if (!isKnownTarget(name)) return [{ place, reason: unknownName('target', name, knownTargets) }];
  const checked = validate(targetSchema(name).options, options, { quoteFrom: written });
  return checked.ok ? [] : checked.problems.map((problem) => within(place, problem));
}

function within(place: string, problem: ConfigProblem): ConfigProblem {
  return { place: problem.place === '' ? place : `${place}.${problem.place}`, reason: problem.reason };
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
    return [{ place: `${place}.deliver`, reason: unknownName('target', target, knownTargets) }];
  }
  return [
    ...(config.targets[target] === undefined ? missingOptions(target, `${place}.deliver`) : []),
    ...templateProblems(config, target, extra).map(({ key, reason }) =>
      within(`${place}.deliver_extra`, { place: key, reason }),
    ),
  ];
}

/** For a target that the config does not list at all, although it has required options. */
function missingOptions(target: KnownTarget, place: string): ConfigProblem[] {
  const checked = validate(targetSchema(target).options, {});
  if (checked.ok) return [];
  return checked.problems.map((missing) => ({
    place,
    reason: `target \`${target}\` is not configured: set \`targets.${target}.${missing.place}\``,
  }));
}

function editProblems(place: string, { deliver, interim }: RouteConfig): ConfigProblem[] {
  if (interim !== 'edit' || !isKnownTarget(deliver) || targetSchema(deliver).edits) return [];
  const able = knownTargets.filter((name) => targetSchema(name).edits);
  const reason = `target \`${deliver}\` cannot edit what it sent (${able.join(', ')} can). Use \`message\` or \`off\`.`;
  return [{ place: `${place}.interim`, reason }];
}

/** Keys that only an agent acts on. Accepted and ignored, they would look as if they did something (no-silent-downgrade). */
const AGENT_KEYS = ['toolsets', 'tools', 'coalesce', 'session_key', 'on_busy', 'max_concurrency'] as const;

function deliverOnlyProblems(name: string, route: RouteConfig): ConfigProblem[] {
  if (!route.deliver_only) return [];
  const place = `routes.${name}`;
  const useless = [
    ...AGENT_KEYS.filter((key) => route[key] !== undefined),
    ...(route.skills.length > 0 ? ['skills'] : []),
  ];
  const noTarget =
    '`deliver_only` sends the rendered prompt to a target, and `log` is not one. Set `deliver` to a target.';
  return [
    ...(route.deliver === 'log' ? [{ place: `${place}.deliver`, reason: noTarget }] : []),
    ...useless.map((key) => ({
      place: `${place}.${key}`,
      reason: 'no agent works on a route with `deliver_only`. Remove one of the two keys.',
    })),
  ];
}

function scriptProblems(name: string, route: RouteConfig): ConfigProblem[] {
  if (route.script !== undefined || route.retry_on_script_failure !== true) return [];
  const reason = 'the route has no `script` that could fail. Set `script`, or remove this key.';
  return [{ place: `routes.${name}.retry_on_script_failure`, reason }];
}

function deliveryIdProblems(name: string, { delivery_id = '' }: RouteConfig): ConfigProblem[] {
  if (delivery_id === '' || PLACEHOLDER.test(delivery_id)) return [];
  const reason =
    'it has no placeholder, so every webhook would be a duplicate of the first. Name a value that differs, for example `{id}`.';
  return [{ place: `routes.${name}.delivery_id`, reason }];
}

function keyProblems(name: string, route: RouteConfig): ConfigProblem[] {
  const { coalesce, session_key, on_busy } = route;
  const place = `routes.${name}`;
  const problems: ConfigProblem[] = [];
  if (on_busy !== undefined && session_key === undefined) {
    problems.push({
      place: `${place}.on_busy`,
      reason:
        'without `session_key` every webhook opens its own session, and none is ever busy. Set `session_key`, or remove this key.',
    });
  }
  if (coalesce !== undefined && session_key !== undefined && coalesce.key !== session_key) {
    problems.push({
      place: `${place}.coalesce.key`,
      reason:
        'turns of one session are coalesced, so this must be the same as `session_key`. Correct one of them.',
    });
  }
  if (coalesce !== undefined && coalesce.max_wait_seconds < coalesce.window_seconds) {
    problems.push({
      place: `${place}.coalesce.max_wait_seconds`,
      reason:
        'the time is shorter than `window_seconds`, so the window could never pass. Make it at least as long.',
    });
  }
  return problems;
}
