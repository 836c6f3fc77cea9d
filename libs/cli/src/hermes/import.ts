import { PLACEHOLDER } from '@angelia/config/placeholder';
import { AngeliaError } from '@angelia/contracts';
import { Document, parseDocument } from 'yaml';
import { importServers } from './mcp-servers.ts';
import { importModels } from './models.ts';
import { type Note, Notes } from './notes.ts';
import { removeRefused } from './remove-refused.ts';
import { type ImportedRoute, importRoutes, type RouteSource } from './routes.ts';
import { importTargets, withExtra } from './targets.ts';
import { DEFAULT_TOOLSETS, importToolsets } from './toolsets.ts';
import { countOf, isSection, present, type Section, sectionOf, textOf, textsOf } from './untyped-values.ts';
import { environmentText, parseDotenv, Variables, withReferences } from './variables.ts';

export interface HermesFiles {
  /** `~/.hermes/config.yaml`. */
  readonly configText: string;
  /** `~/.hermes/webhook_subscriptions.json`, which `hermes webhook subscribe` writes. */
  readonly subscriptionsText?: string;
  /** `~/.hermes/.env`. */
  readonly envText?: string;
  /** The directory of scripts, skills and the lists of filters. */
  readonly hermesHome?: string;
}

export interface Imported {
  /** The text of `angelia.yaml`. Our loader accepts it. */
  readonly yaml: string;
  /** The variables that it refers to. The value is null if Hermes does not have it. */
  readonly environment: readonly { readonly name: string; readonly value: string | null }[];
  /** The same variables as a file. It holds secrets: write it with mode 0600. */
  readonly environmentText: string;
  readonly routes: readonly { readonly name: string; readonly enabled: boolean }[];
  readonly notes: readonly Note[];
}

/** A file of Hermes cannot be read. The message is one line and quotes nothing from the file. */
export class HermesUnreadable extends AngeliaError {
  override readonly name = 'HermesUnreadable';
  readonly code = 'hermes_unreadable';
  readonly retryable = false;
}

const HERMES_HOME = '~/.hermes';
/** Hermes' time limit for a script. Ours is 5 s, because GitHub hangs up after 10. */
const HERMES_SCRIPT_SECONDS = 30;
const LONGEST_SCRIPT_SECONDS = 60;

export function importHermes(files: HermesFiles): Imported {
  const hermesHome = (files.hermesHome ?? HERMES_HOME).replace(/\/+$/, '');
  const environment = parseDotenv(files.envText ?? '');
  const variables = new Variables(environment);
  const notes = new Notes();
  const hermes = sectionOf(
    withReferences(readConfig(files.configText), (name) => Object.hasOwn(environment, name)),
  );
  // Hermes fills in variables in the config only, not in subscriptions.
  const subscriptions = sectionOf(withReferences(readSubscriptions(files.subscriptionsText), () => false));

  const webhook = withExtra(sectionOf(hermes.platforms).webhook);
  const secret = globalSecret(webhook, variables);
  const { models, order } = importModels(hermes, variables, notes);
  const { servers } = importServers(hermes, variables, notes);
  const targets = importTargets(hermes, variables, notes);
  const imported = importRoutes(routeSources(webhook, subscriptions, notes), {
    variables,
    notes,
    hermesHome,
    hasGlobalSecret: secret !== undefined,
    targets,
    mcpServers: Object.keys(servers),
    hasModel: order.length > 0,
  });
  if (order.length === 0) {
    notes.add(
      'model',
      'no model could be imported: the agent uses the built-in echo',
      'add a model and set `agents.default.model`',
    );
  }
  if (
    imported.some(({ route }) => route.deliver === 'github_comment') &&
    targets.github_comment === undefined
  ) {
    targets.github_comment = { token: `\${GITHUB_TOKEN}` };
    notes.add(
      'platforms.webhook',
      'Hermes posts comments with the login of the `gh` command',
      'set GITHUB_TOKEN to a token that may write to issues and pull requests of those repositories',
    );
  }
  const agents = agentsFor(hermes, order, imported, Object.keys(servers), notes);
  const config = present({
    secret,
    limits: limitsOf(webhook, imported, notes),
    models: order.length === 0 ? { echo: { provider: 'builtin', model: 'echo' } } : models,
    agents: agents.agents,
    mcp_servers: Object.keys(servers).length === 0 ? undefined : servers,
    targets: Object.keys(targets).length === 0 ? undefined : targets,
    directories: directoriesOf(imported, hermesHome),
    routes: Object.fromEntries(
      imported.map(({ name, route }) => [name, { ...route, ...agents.ofRoute(name) }]),
    ),
  });
  noteSurroundings(hermes, webhook, imported, notes);
  removeRefused(config, variables, new Map(imported.map(({ name, place }) => [name, place])), notes);

  const used = variables.usedIn(config);
  return {
    yaml: written(
      config,
      imported,
      used.map(({ name }) => name),
    ),
    environment: used,
    environmentText: environmentText(used),
    routes: Object.entries(sectionOf(config.routes)).map(([name, route]) => ({
      name,
      enabled: sectionOf(route).enabled !== false,
    })),
    notes: notes.all,
  };
}

function readConfig(text: string): Section {
  const document = parseDocument(text, { prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const line = text.slice(0, error.pos[0]).split('\n').length;
    throw new HermesUnreadable(`config.yaml of Hermes is not valid YAML: line ${line}: ${error.code}`);
  }
  const config: unknown = document.toJS() ?? {};
  if (!isSection(config)) throw new HermesUnreadable('config.yaml of Hermes is not a YAML mapping');
  return config;
}

function readSubscriptions(text: string | undefined): Section {
  if (text === undefined || text.trim() === '') return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw new HermesUnreadable('webhook_subscriptions.json of Hermes is not valid JSON');
  }
  if (!isSection(parsed))
    throw new HermesUnreadable('webhook_subscriptions.json of Hermes is not a JSON object');
  return parsed;
}

function globalSecret(webhook: Section, variables: Variables): string | undefined {
  const inline = textOf(webhook.secret);
  return inline === undefined
    ? variables.reference('WEBHOOK_SECRET')
    : variables.secret('WEBHOOK_SECRET', inline);
}

/** Routes of the config come first: they hide subscriptions with the same name. */
function routeSources(webhook: Section, subscriptions: Section, notes: Notes): RouteSource[] {
  const fixed = Object.entries(sectionOf(webhook.routes)).map(([name, route]) => ({
    name,
    route,
    place: `platforms.webhook.extra.routes.${name}`,
  }));
  const dynamic = Object.entries(subscriptions).flatMap(([name, route]) => {
    const place = `webhook_subscriptions.json: ${name}`;
    if (!fixed.some((one) => one.name === name)) return [{ name, route, place }];
    notes.add(place, 'is hidden by the route of the same name in the config, as in Hermes', 'it is left out');
    return [];
  });
  return [...fixed, ...dynamic];
}

function limitsOf(webhook: Section, routes: readonly ImportedRoute[], notes: Notes): Section | undefined {
  const withScript = routes.some(({ route }) => route.script !== undefined);
  const wanted = countOf(webhook.script_timeout_seconds) ?? (withScript ? HERMES_SCRIPT_SECONDS : undefined);
  const scriptSeconds = wanted === undefined ? undefined : Math.min(wanted, LONGEST_SCRIPT_SECONDS);
  if (scriptSeconds !== undefined) {
    notes.add(
      'platforms.webhook.extra.script_timeout_seconds',
      `scripts may take ${scriptSeconds} s${wanted === scriptSeconds ? ', as in Hermes' : `, the maximum here (Hermes: ${wanted})`}`,
      'GitHub hangs up after 10 s: lower `limits.script_timeout_seconds` if GitHub sends webhooks',
    );
  }
  const limits = present({
    max_body_bytes: countOf(webhook.max_body_bytes),
    rate_limit: countOf(webhook.rate_limit),
    script_timeout_seconds: scriptSeconds,
  });
  return Object.keys(limits).length === 0 ? undefined : limits;
}

function directoriesOf(routes: readonly ImportedRoute[], hermesHome: string): Section | undefined {
  const directories = present({
    scripts: routes.some(({ route }) => route.script !== undefined) ? `${hermesHome}/scripts` : undefined,
    skills: routes.some(({ route }) => route.skills !== undefined) ? `${hermesHome}/skills` : undefined,
  });
  return Object.keys(directories).length === 0 ? undefined : directories;
}

interface Agents {
  readonly agents: Section;
  ofRoute(name: string): Section;
}

/**
 * One agent for ordinary routes, and one with all tools of trusted routes, so that a tool of one route does not reach the
 * others by accident.
 */
function agentsFor(
  hermes: Section,
  models: readonly string[],
  routes: readonly ImportedRoute[],
  servers: readonly string[],
  notes: Notes,
): Agents {
  const [model = 'echo', ...fallbacks] = models;
  const own = sectionOf(hermes.agent);
  const platform = sectionOf(hermes.platform_toolsets).webhook;
  const ordinary =
    platform === undefined
      ? DEFAULT_TOOLSETS
      : importToolsets('platform_toolsets.webhook', textsOf(platform), servers, notes);
  const base = present({
    model,
    fallback_models: fallbacks.length === 0 ? undefined : fallbacks,
    system: textOf(own.system_prompt),
    max_steps: countOf(own.max_turns),
  });
  const wider = routes.filter(({ toolsets }) => toolsets?.some((one) => !ordinary.includes(one)));
  const all = [...new Set(wider.flatMap(({ toolsets }) => toolsets ?? []))];
  return {
    agents: {
      default: { ...base, toolsets: ordinary },
      ...(wider.length === 0 ? {} : { trusted: { ...base, toolsets: all } }),
    },
    ofRoute: (name) => {
      const route = routes.find((one) => one.name === name);
      if (route?.toolsets === undefined) return {};
      return { ...(wider.includes(route) ? { agent: 'trusted' } : {}), toolsets: [...route.toolsets] };
    },
  };
}

const CARRIED = new Set([
  ...['platforms', 'model', 'fallback_providers', 'fallback_model', 'providers', 'custom_providers'],
  ...['mcp_servers', 'agent', 'platform_toolsets', '_config_version'],
]);
const OF_WEBHOOK = new Set([
  ...[
    'enabled',
    'extra',
    'host',
    'port',
    'secret',
    'routes',
    'rate_limit',
    'max_body_bytes',
    'script_timeout_seconds',
  ],
]);

function noteSurroundings(
  hermes: Section,
  webhook: Section,
  routes: readonly ImportedRoute[],
  notes: Notes,
): void {
  const host = textOf(webhook.host);
  const port = textOf(webhook.port);
  notes.add(
    'platforms.webhook.extra.host',
    `Hermes listens on ${host ?? 'all interfaces'}; Angelia listens on 127.0.0.1 by default`,
    `set ANGELIA_HOST=${host ?? '0.0.0.0'}${port === undefined ? '' : ` and ANGELIA_PORT=${port}`} in the environment of ingress`,
  );
  for (const key of Object.keys(webhook).filter((one) => !OF_WEBHOOK.has(one))) {
    notes.add(`platforms.webhook.extra.${key}`, 'has no equivalent here', 'it is left out');
  }
  const others = Object.keys(hermes).filter((key) => !CARRIED.has(key));
  if (others.length > 0) {
    notes.add(
      others.join(', '),
      "these sections configure Hermes' own chat, tools and memory",
      'nothing: Angelia has no such settings (docs/angelia.example.yaml lists its own)',
    );
  }
  const templates = routes.map(({ route }) =>
    JSON.stringify([route.prompt, route.deliver_extra, route.coalesce]),
  );
  if (templates.some((text) => PLACEHOLDER.test(text))) {
    notes.add(
      'templates',
      'templates mean the same, with these differences: true, false and null are written as in JSON (Hermes: True, False, None); {list.0} is an item of a list (Hermes leaves it unchanged); a missing value in deliver_extra is answered with 400 (Hermes sends it nowhere)',
      'check the templates that use those',
    );
  }
}

function written(config: Section, routes: readonly ImportedRoute[], variables: readonly string[]): string {
  const document = new Document(config);
  document.commentBefore = [
    ' Made by `angelia import-hermes`. Its output says what could not be imported. `enabled: false` marks routes to check.',
    ` Variables that must be set: ${variables.join(', ') || 'none'}.`,
  ].join('\n');
  for (const { name, description } of routes) {
    const node: unknown = document.getIn(['routes', name], true);
    if (description !== undefined && isSection(node)) {
      (node as { commentBefore?: string }).commentBefore = ` ${description.replace(/\s+/g, ' ')}`;
    }
  }
  return document.toString({ lineWidth: 0 });
}
