import type { Config, ConfigProblem, RouteConfig } from '@angelia/contracts';
import { unknownName } from './unknown-name.ts';

type ToolRule = NonNullable<RouteConfig['tools']>['policy'][number];

/** What every provider accepts, so names of MCP servers are made to fit (agent-runner, tools/mcp/tool-names.ts). */
const NAME = /^[A-Za-z0-9_*-]+$/;
const LONGEST_NAME = 64;

/**
 * Rules that can match no call. A tool whose rule has a typing error would run without being asked about
 * (invariant no-silent-downgrade).
 */
export function toolRuleProblems(config: Pick<Config, 'agents' | 'routes' | 'chats' | 'mcp_servers'>) {
  const { agents, routes, chats, mcp_servers } = config;
  const servers = Object.keys(mcp_servers);
  return Object.entries({ agents, routes, chats }).flatMap(([kind, entries]) =>
    Object.entries(entries).flatMap(([name, entry]): ConfigProblem[] => {
      const rules: readonly ToolRule[] = ('tools' in entry ? entry.tools?.policy : undefined) ?? [];
      return rules.flatMap((rule, index) => {
        const place = `${kind}.${name}.tools.policy.${index}`;
        const reason = toolProblem(rule.tool, servers);
        if (reason !== null) return [{ place: `${place}.tool`, reason }];
        const wrong = matchProblem(rule);
        return wrong === null ? [] : [{ place: `${place}.match`, reason: wrong }];
      });
    }),
  );
}

function toolProblem(tool: string, servers: readonly string[]): string | null {
  if (tool === 'clarify') return 'a question to a person is never asked about. Remove this rule.';
  if (!NAME.test(tool) || (!tool.includes('*') && tool.length > LONGEST_NAME)) {
    const meant = tool.slice(0, LONGEST_NAME - 10).replaceAll(/[^A-Za-z0-9_*-]+/g, '*');
    return `models see names of at most ${LONGEST_NAME} letters, digits, _ and -. A name of a server that does not fit is changed, and a mark added. Write \`${meant}${meant.endsWith('*') ? '' : '*'}\`.`;
  }
  const known = ['terminal', 'process', ...servers.map((server) => `mcp__${server}__*`)];
  // A rule about every server needs none.
  const isKnown = tool.startsWith('mcp__*') || known.some((name) => mayMean(tool, name));
  return isKnown ? null : unknownName('tool', tool, known);
}

/** By what stands before the first `*` of both. */
function mayMean(tool: string, name: string): boolean {
  const [[given = '', ...more], [known = '', ...others]] = [tool.split('*'), name.split('*')];
  if (more.length === 0 && others.length === 0) return given === known;
  if (more.length === 0) return given.startsWith(known) && given.length > known.length;
  return known.startsWith(given) || (others.length > 0 && given.startsWith(known));
}

function matchProblem({ tool, match }: ToolRule): string | null {
  if (match === undefined) return null;
  if (match.startsWith('^'))
    return 'this is not a regular expression: `*` stands for any characters, everything else for itself, and the pattern must match the whole text. Remove the `^`.';
  if (mayMean(tool, 'terminal')) return null;
  if (!/^[{*].*[}*]$/s.test(match) && match !== '*')
    return 'the arguments of this tool are a JSON object, such as {"action":"list"}. Put a `*` where the pattern leaves something out, such as `*"action":"list"*`.';
  return /"\w+"(?:\s+:|:\s)/.test(match)
    ? 'the arguments are compared without spaces between them. Write `"name":"value"`.'
    : null;
}
