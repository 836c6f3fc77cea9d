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
  /** As in the files of Hermes. */
  readonly place: string;
}

export interface RouteContext {
  readonly variables: Variables;
  readonly notes: Notes;
  readonly hermesHome: string;
  readonly hasGlobalSecret: boolean;
  readonly targets: Readonly<Record<string, unknown>>;
  readonly mcpServers: readonly string[];
  /** False: no model could be carried over. */
  readonly hasModel: boolean;
}

export interface ImportedRoute {
  readonly name: string;
  readonly place: string;
  readonly description: string | undefined;
  readonly route: Record<string, unknown>;
  /** More than what webhooks may do by default: the route needs an agent that has it. */
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
/** Without credentials of their own in the config of Hermes. */
const ALWAYS_THERE = ['log', 'github_comment'];
const TARGETS = [...ALWAYS_THERE, 'telegram', 'discord', 'slack', 'matrix', 'mattermost', 'email'];

export function importRoutes(sources: readonly RouteSource[], context: RouteContext): ImportedRoute[] {
  const names = new Set<string>();
  return sources.flatMap(({ name: written, route, place }) => {
    if (!isSection(route)) {
      context.notes.add(place, 'is no route', 'it is left out');
      return [];
    }
    const name = freeName(asName(written), (one) => names.has(one));
    if (name !== written) {
      context.notes.add(place, `its name is ${name} here`, `let its sender post to /webhooks/${name}`);
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
      'it has no secret, and Hermes takes nothing there either',
      'it is left out: add it with a secret',
    );
    return null;
  }
  if (secret === INSECURE_NO_AUTH) {
    notes.add(
      `${place}.secret`,
      'it takes webhooks from anybody; here ingress refuses to start with such a route unless it listens on 127.0.0.1 alone',
      'give it a secret before ANGELIA_HOST is anything else',
    );
  }
  /** What would not be the same without a person's doing: the route is there, and closed. */
  const closed: string[] = [];
  const close = (key: string, what: string, todo: string): void => {
    closed.push(key);
    notes.add(
      `${place}.${key}`,
      `${what}; the route is there and switched off`,
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
      'Hermes starts scripts with bash or Python by their name; here they are started directly',
      `give ${script} a \`#!\` line and \`chmod +x\`; HERMES_WEBHOOK_EVENT_TYPE is ANGELIA_EVENT_TYPE, HERMES_WEBHOOK_DELIVERY_ID is ANGELIA_DELIVERY_ID`,
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
      'a route with `deliver_only` answers 202 as soon as the message is in the log, not 200 when it is delivered, nor 502',
      'a delivery that fails is tried again by itself; senders need not send twice',
    );
  }
  return { name, place, description: textOf(route.description), route: { ...enabled, ...made }, toolsets };
}

/** Without one Hermes introduces the whole payload; so does an empty one here. */
function promptOf(place: string, prompt: unknown, notes: Notes): string {
  if (typeof prompt === 'string') return prompt;
  if (prompt !== undefined && prompt !== null) {
    notes.add(`${place}.prompt`, 'it is no text', 'the agent gets the whole payload instead: write it anew');
  }
  return '';
}

/** undefined: the one of all routes; null: there is none at all. */
function secretOf(name: string, route: Section, context: RouteContext): string | undefined | null {
  // A key that is there and empty counts in Hermes, too: it is refused.
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
      `it belongs to the profile ${profile} (and to /p/${profile}/webhooks/...)`,
      `${refusedHermesKeys.profile}; its sender posts to /webhooks/<name>`,
    );
  }
  if (textOf(route.cron_job) !== undefined) {
    close(
      'cron_job',
      'it starts the cron job of that name',
      `put the job's own prompt and target into this route (${refusedHermesKeys.cron_job})`,
    );
  }
  if (route.mirror_to_session === true) {
    notes.add(
      `${place}.mirror_to_session`,
      'there are no chats that a delivery could be copied into',
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
      `Hermes has no credential of ${wanted} in its config or environment`,
      `set \`targets.${wanted}\`, and \`deliver: ${wanted}\` here`,
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
  close('script', `${written} is outside of ${directory}`, 'put it there and name it under `script`');
  return undefined;
}

function filtersOf(place: string, given: unknown, context: RouteContext, close: Close): Section[] {
  if (given === undefined || given === null) return [];
  const list = Array.isArray(given) ? given : [given];
  return list.flatMap((spec, index) => {
    const carried = importFilter(spec, context.hermesHome);
    if (carried.kind === 'always') return [];
    if (carried.kind === 'not') {
      close(
        `filters.${index}`,
        `this filter cannot be carried over: ${carried.reason}`,
        'write it anew (docs/routes.md, Filters)',
      );
      return [];
    }
    for (const note of carried.notes)
      context.notes.add(`${place}.filters.${index}`, note, 'write two filters if both should count');
    return [carried.filter];
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
      `${name} is no name of a skill here`,
      'it is left out: rename it (letters, digits, - and _)',
    );
  }
  for (const name of good) {
    notes.add(
      `${place}.skills`,
      `Hermes looks for ${name} in all folders of its skills, and adds the first skill of the list that it finds; here all are added`,
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
  // Hermes drops a list that is empty or none, and the platform's stay.
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
    // Hermes takes a bare path, too.
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
