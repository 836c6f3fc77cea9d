import { type Config, type ConfigProblem, parseConfig, type RouteConfig } from '@angelia/contracts';
import { privateHostOf } from '../targets/http-url.ts';
import { targetOptions } from '../targets/schemas.ts';
import { agentNamed, toolsetsOf } from './agents.ts';
import { crossReferenceProblems } from './cross-references.ts';

type CheckedRoute =
  | { readonly ok: true; readonly config: Config; readonly route: RouteConfig }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/**
 * Checks a route made by API: like one of the config file, and without what only an operator may use. The caller has
 * refused `${NAME}` before (literalApiRoute). The returned config is the file's with this route as its only one. Places
 * of problems are relative to the route.
 */
export function checkApiRoute(
  config: Config,
  name: string,
  definition: Readonly<Record<string, unknown>>,
  listenHost: string,
): CheckedRoute {
  const inFile = { routes: { [name]: definition } };
  const parsed = parseConfig(inFile);
  if (!parsed.ok) return refused(name, parsed.problems);
  const route = parsed.config.routes[name] as RouteConfig;
  const operatorOnly = operatorOnlyProblems(definition);
  const allowed = toolsetProblems(config, route);
  const withRoute: Config = {
    ...config,
    // The fallback secret belongs to the operator, for the routes of the file.
    secret: undefined,
    // Pinned: if the agent gets more toolsets later, this route does not.
    routes: { [name]: route.deliver_only ? route : { ...route, toolsets: toolsetsOfRoute(config, route) } },
  };
  const crossed = crossReferenceProblems(withRoute, listenHost).filter(({ place }) =>
    place.startsWith(`routes.${name}`),
  );
  const problems = [...operatorOnly, ...allowed, ...crossed, ...privateAddressProblems(config, route)];
  if (problems.length > 0) return refused(name, problems);
  return { ok: true, config: withRoute, route: withRoute.routes[name] as RouteConfig };
}

function refused(name: string, problems: readonly ConfigProblem[]): CheckedRoute {
  const prefix = `routes.${name}.`;
  return {
    ok: false,
    problems: problems.map(({ place, reason }) => ({
      place: place.startsWith(prefix) ? place.slice(prefix.length) : place.replace(/^routes\..*$/, '(route)'),
      reason,
    })),
  };
}

/** Programs and files of the host. Only the operator grants those, in the config file. */
function operatorOnlyProblems(definition: Readonly<Record<string, unknown>>): ConfigProblem[] {
  const reason = 'this key reads files of the host. Only a route of the config file may have it.';
  const problems: ConfigProblem[] = [];
  if (definition.tools !== undefined) {
    const why =
      'the rules of a route come before those of its agent, and could allow what they ask about. Only a route of the config file may have it.';
    problems.push({ place: 'tools', reason: why });
  }
  for (const key of ['script', 'retry_on_script_failure']) {
    if (definition[key] !== undefined) problems.push({ place: key, reason });
  }
  for (const place of placesOf('in_file', definition.filters, 'filters')) problems.push({ place, reason });
  return problems;
}

function placesOf(key: string, value: unknown, place: string): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    name === key && !Array.isArray(value) ? [`${place}.${name}`] : placesOf(key, item, `${place}.${name}`),
  );
}

/** Reported when the route is made, not by the first delivery that fails. Names are checked then, by what DNS says. */
function privateAddressProblems(config: Config, route: RouteConfig): ConfigProblem[] {
  if (targetOptions(config, 'http').allow_private_networks) return [];
  const { fallback_target: fallback } = route;
  const addresses = [
    { place: 'deliver_extra.url', target: route.deliver, url: route.deliver_extra.url },
    {
      place: 'fallback_target.deliver_extra.url',
      target: fallback?.deliver,
      url: fallback?.deliver_extra.url,
    },
  ];
  return addresses.flatMap(({ place, target, url }) => {
    const host = target === 'http' && typeof url === 'string' ? privateHostOf(url) : null;
    if (host === null) return [];
    const reason =
      `${host} is not a public address, and a route made by API needs one. Write the route into the config file, or ` +
      'allow private addresses for all routes there (`targets.http.allow_private_networks`).';
    return [{ place, reason }];
  });
}

function toolsetsOfRoute(config: Config, route: RouteConfig): string[] | undefined {
  const agent = agentNamed(config, route.agent);
  return route.toolsets ?? (agent && [...toolsetsOf(agent)]);
}

function toolsetProblems(config: Config, route: RouteConfig): ConfigProblem[] {
  // No agent works on it. crossReferenceProblems refuses `toolsets` there.
  if (route.deliver_only) return [];
  const allowed = config.api_routes.allowed_toolsets;
  const list = allowed.join(', ') || 'none';
  // A program that gets the sender's text as its input is as powerful as a terminal.
  if (agentNamed(config, route.agent)?.kind === 'command' && !allowed.includes('terminal')) {
    const reason =
      `agent \`${route.agent}\` runs a program, and routes made by API may not: ` +
      `that needs \`terminal\` in \`api_routes.allowed_toolsets\` of the config (now: ${list}).`;
    return [{ place: 'agent', reason }];
  }
  if (route.toolsets !== undefined) {
    return route.toolsets
      .filter((toolset) => !allowed.includes(toolset))
      .map((toolset) => ({
        place: 'toolsets',
        reason: `routes made by API may not use \`${toolset}\` (\`api_routes.allowed_toolsets\` of the config: ${list}).`,
      }));
  }
  const beyond = (toolsetsOfRoute(config, route) ?? []).filter((toolset) => !allowed.includes(toolset));
  if (beyond.length === 0) return [];
  return [
    {
      place: 'toolsets',
      reason:
        `agent \`${route.agent}\` has ${beyond.map((toolset) => `\`${toolset}\``).join(', ')}, which routes made by API ` +
        `may not use. Set \`toolsets\` to what they may use (\`api_routes.allowed_toolsets\` of the config: ${list}).`,
    },
  ];
}
