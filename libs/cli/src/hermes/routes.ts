import { INSECURE_NO_AUTH } from '@angelia/config';
import { refusedHermesKeys } from '@angelia/contracts';
import { hermesPath, importFilter } from './filters.ts';
import type { Notes } from './notes.ts';
import { importAddress } from './targets.ts';
import { importToolsets } from './toolsets.ts';
import {
  asName,
  freeName,
  isSection,
  present,
  type Section,
  sectionOf,
  textOf,
  textsOf,
} from './untyped-values.ts';
import type { Variables } from './variables.ts';

export interface RouteSource {
  readonly name: string;
  readonly route: unknown;
  /** The place in the files of Hermes. */
  readonly place: string;
}

export interface RouteContext {
  readonly variables: Variables;
  readonly notes: Notes;
  readonly hermesHome: string;
  readonly hasGlobalSecret: boolean;
  readonly targets: Readonly<Record<string, unknown>>;
  readonly mcpServers: readonly string[];
  /** False if no model could be imported. */
  readonly hasModel: boolean;
}

export interface ImportedRoute {
  readonly name: string;
  readonly place: string;
  readonly description: string | undefined;
  readonly route: Record<string, unknown>;
  /** Toolsets beyond the default of webhooks. The route needs an agent that has them. */
  readonly toolsets: readonly string[] | undefined;
}

const KNOWN = new Set([
  ...[
    'description',
    'created_at',
    'enabled',
    'secret',
    'profile',
    'events',
    'filters',
    'script',
    'prompt',
    'skills',
  ],
  ...['retry_on_script_failure', 'toolsets', 'deliver', 'deliver_extra', 'deliver_only', 'coalesce'],
  ...Object.keys(refusedHermesKeys),
]);
/** They need no credentials in the config of Hermes. */
const ALWAYS_THERE = ['log', 'github_comment'];
const TARGETS = [...ALWAYS_THERE, 'telegram', 'discord', 'slack', 'matrix', 'mattermost', 'email'];

export function importRoutes(sources: readonly RouteSource[], context: RouteContext): ImportedRoute[] {
  const names = new Set<string>();
  return sources.flatMap(({ name: written, route, place }) => {
    if (!isSection(route)) {
      context.notes.add(place, 'is not a route', 'it is left out');
      return [];
    }
    const name = freeName(asName(written), (one) => names.has(one));
    if (name !== written) {
      context.notes.add(place, `its name is ${name} here`, `tell its sender to post to /webhooks/${name}`);
    }
    const imported = importRoute(name, place, route, context);
    if (imported === null) return [];
    names.add(name);
    return [imported];
  });
}

function importRoute(
  name: string,
  place: string,
  route: Section,
  context: RouteContext,
): ImportedRoute | null {
  const { notes } = context;
  const secret = secretOf(name, route, context);
  if (secret === null) {
    notes.add(
      `${place}.secret`,
      'it has no secret, so Hermes refuses every webhook there as well',
      'it is left out: add it with a secret',
    );
    return null;
  }
  if (secret === INSECURE_NO_AUTH) {
    notes.add(
      `${place}.secret`,
      'it accepts webhooks from anybody; ingress refuses to start with such a route unless it listens on 127.0.0.1 only',
      'give it a secret before you change ANGELIA_HOST',
    );
  }
  /** Keys that would behave differently here. The route is imported but switched off until a person has checked it. */
  const closed: string[] = [];
  const close = (key: string, what: string, todo: string): void => {
    closed.push(key);
    notes.add(
      `${place}.${key}`,
      `${what}; the route is imported but switched off`,
      `${todo}, then remove \`enabled: false\``,
    );
  };
  for (const key of Object.keys(route).filter((one) => !KNOWN.has(one))) {
    notes.add(`${place}.${key}`, `\`${key}\` is unknown`, 'it is left out');
  }
  refusedKeys(place, route, notes, close);
  const target = targetOf(route, context, close);
  const deliverOnly = route.deliver_only === true && target !== 'log';
  if (!deliverOnly && !context.hasModel)
    close('deliver', 'there is no model for its agent', 'add a model to `agents.default`');
  const script = scriptOf(route, context.hermesHome, close);
  if (script !== undefined) {
    notes.add(
      `${place}.script`,
      'Hermes starts scripts with bash or Python, by their file name; here they are started directly',
      `give ${script} a \`#!\` line and \`chmod +x\`; in the script, read ANGELIA_EVENT_TYPE instead of HERMES_WEBHOOK_EVENT_TYPE, and ANGELIA_DELIVERY_ID instead of HERMES_WEBHOOK_DELIVERY_ID`,
    );
  }
  const toolsets = toolsetsOf(place, route, deliverOnly, context);
  const filters = filtersOf(place, route.filters, context, close);
  const made = present({
    secret,
    events: eventsOf(route.events),
    filters: filters.length === 0 ? undefined : filters,
    script,
    retry_on_script_failure:
      script !== undefined && route.retry_on_script_failure === true ? true : undefined,
    prompt: promptOf(place, route.prompt, notes),
    skills: deliverOnly ? undefined : skillsOf(place, route, notes),
    deliver: target,
    deliver_extra: nonEmpty(
      importAddress(
        `${place}.deliver_extra`,
        target,
        sectionOf(target === 'log' ? {} : route.deliver_extra),
        notes,
      ),
    ),
    deliver_only: deliverOnly ? true : undefined,
    coalesce: deliverOnly ? undefined : coalesceOf(route.coalesce),
  });
  const enabled = closed.length === 0 && route.enabled !== false ? {} : { enabled: false };
  if (deliverOnly) {
    notes.add(
      place,
      'a route with `deliver_only` answers 202 as soon as the message is in the log, not 200 after the delivery and not 502',
      'nothing: Angelia retries a failed delivery, so senders need not send again',
    );
  }
  return { name, place, description: textOf(route.description), route: { ...enabled, ...made }, toolsets };
}

/** Without a prompt Hermes sends the whole payload with an introduction. An empty prompt does the same here. */
function promptOf(place: string, prompt: unknown, notes: Notes): string {
  if (typeof prompt === 'string') return prompt;
  if (prompt !== undefined && prompt !== null) {
    notes.add(
      `${place}.prompt`,
      'it is not a text',
      'the agent gets the whole payload instead: write a new prompt',
    );
  }
  return '';
}

/** Undefined if the route uses the secret of all routes; null if it has none. */
function secretOf(name: string, route: Section, context: RouteContext): string | undefined | null {
  // An empty key counts in Hermes as well: the route refuses everything.
  const written = Object.hasOwn(route, 'secret') ? (textOf(route.secret) ?? null) : undefined;
  if (written === null) return null;
  if (written === undefined) return context.hasGlobalSecret ? undefined : null;
  return written === INSECURE_NO_AUTH ? written : context.variables.secret(`${name}_WEBHOOK_SECRET`, written);
}

type Close = (key: string, what: string, todo: string) => void;

function refusedKeys(place: string, route: Section, notes: Notes, close: Close): void {
  const profile = textOf(route.profile) ?? 'default';
  if (profile !== 'default') {
    close(
      'profile',
      `it belongs to the profile ${profile} (address /p/${profile}/webhooks/...)`,
      `${refusedHermesKeys.profile}; its sender posts to /webhooks/<name>`,
    );
  }
  if (textOf(route.cron_job) !== undefined) {
    close(
      'cron_job',
      'it starts a cron job of Hermes',
      `put the prompt and the target of the job into this route (${refusedHermesKeys.cron_job})`,
    );
  }
  if (route.mirror_to_session === true) {
    notes.add(
      `${place}.mirror_to_session`,
      'Angelia has no chats to copy a delivery into',
      refusedHermesKeys.mirror_to_session ?? '',
    );
  }
}

function targetOf(route: Section, { targets }: RouteContext, close: Close): string {
  const wanted = textOf(route.deliver) ?? 'log';
  if (!TARGETS.includes(wanted)) {
    close(
      'deliver',
      `there is no target ${wanted}`,
      'set `deliver` and `deliver_extra` to one of docs/targets.md (`http` reaches anything that takes a POST)',
    );
    return 'log';
  }
  if (!ALWAYS_THERE.includes(wanted) && !Object.hasOwn(targets, wanted)) {
    close(
      'deliver',
      `Hermes has no credential for ${wanted} in its config or environment`,
      `set \`targets.${wanted}\`, and \`deliver: ${wanted}\` in this route`,
    );
    return 'log';
  }
  return wanted;
}

function scriptOf(route: Section, hermesHome: string, close: Close): string | undefined {
  const written = textOf(route.script)?.trim();
  if (written === undefined) return undefined;
  const directory = `${hermesHome}/scripts/`;
  const whole =
    written.startsWith('/') || written.startsWith('~')
      ? hermesPath(written, hermesHome)
      : `${directory}${written}`;
  if (whole.startsWith(directory) && !whole.split('/').includes('..')) return whole.slice(directory.length);
  close('script', `${written} is outside ${directory}`, 'move the script there and name it under `script`');
  return undefined;
}

function filtersOf(place: string, given: unknown, context: RouteContext, close: Close): Section[] {
  if (given === undefined || given === null) return [];
  const list = Array.isArray(given) ? given : [given];
  return list.flatMap((spec, index) => {
    const imported = importFilter(spec, context.hermesHome);
    if (imported.kind === 'always') return [];
    if (imported.kind === 'not') {
      close(
        `filters.${index}`,
        `this filter cannot be imported: ${imported.reason}`,
        'write a new one (docs/routes.md, Filters)',
      );
      return [];
    }
    for (const note of imported.notes)
      context.notes.add(`${place}.filters.${index}`, note, 'write two filters if both should apply');
    return [imported.filter];
  });
}

function eventsOf(events: unknown): string[] | undefined {
  const list = textsOf(events);
  return list.length === 0 ? undefined : list;
}

const SKILL = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}$/;

function skillsOf(place: string, route: Section, notes: Notes): string[] | undefined {
  const written = textsOf(route.skills);
  if (written.length === 0) return undefined;
  const good = written.filter((name) => SKILL.test(name));
  for (const name of written.filter((one) => !good.includes(one))) {
    notes.add(
      `${place}.skills`,
      `${name} is not a valid name of a skill`,
      'it is left out: rename it (letters, digits, - and _)',
    );
  }
  for (const name of good) {
    notes.add(
      `${place}.skills`,
      `Hermes looks for ${name} in all folders of its skills and adds the first skill of the list that it finds; Angelia adds all skills of the list`,
      `put it at skills/${name}.md or skills/${name}/SKILL.md (\`directories.skills\`)`,
    );
  }
  return good.length === 0 ? undefined : good;
}

function toolsetsOf(
  place: string,
  route: Section,
  deliverOnly: boolean,
  context: RouteContext,
): string[] | undefined {
  // Hermes ignores an empty or missing list and uses the platform's toolsets.
  if (deliverOnly || !Array.isArray(route.toolsets) || textsOf(route.toolsets).length === 0) return undefined;
  return importToolsets(`${place}.toolsets`, textsOf(route.toolsets), context.mcpServers, context.notes);
}

function coalesceOf(given: unknown): Section | undefined {
  const { key, window_seconds, max_wait_seconds } = sectionOf(given);
  const written = textOf(key)?.trim();
  if (written === undefined) return undefined;
  const window = positive(window_seconds);
  const longest = positive(max_wait_seconds);
  return present({
    // Hermes also accepts a path without braces.
    key: written.includes('{') ? written : `{${written}}`,
    window_seconds: window,
    max_wait_seconds: longest === undefined ? undefined : Math.max(longest, window ?? 0),
  });
}

function positive(value: unknown): number | undefined {
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && number > 0 ? number : undefined;
}

function nonEmpty(section: Section): Section | undefined {
  return Object.keys(section).length === 0 ? undefined : section;
}
