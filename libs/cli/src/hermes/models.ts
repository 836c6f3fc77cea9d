import type { Notes } from './notes.ts';
import { aliases, autoOrder, type Provider, providers } from './providers.ts';
import {
  asName,
  countOf,
  freeName,
  isSection,
  present,
  type Section,
  sectionOf,
  textOf,
} from './untyped-values.ts';
import type { Variables } from './variables.ts';

export interface ImportedModels {
  readonly models: Record<string, unknown>;
  /** Names: first the agent's model, then its fallbacks. Empty if no model could be imported. */
  readonly order: readonly string[];
}

export function importModels(config: Section, variables: Variables, notes: Notes): ImportedModels {
  const models: Record<string, unknown> = {};
  const order: string[] = [];
  for (const { place, wanted } of wantedModels(config)) {
    const made = importModel(place, wanted, namedProviders(config), variables, notes);
    if (made === null) continue;
    const name = freeName(
      asName(order.length === 0 ? 'main' : (textOf(wanted.provider) ?? 'fallback')),
      (one) => Object.hasOwn(models, one),
    );
    models[name] = made;
    order.push(name);
  }
  return { models, order };
}

function wantedModels(config: Section): { place: string; wanted: Section }[] {
  const { model, fallback_providers: list, fallback_model: legacy } = config;
  const fallbacks =
    Array.isArray(list) && list.length > 0 ? list : legacy === undefined ? [] : [legacy].flat();
  const key = Array.isArray(list) && list.length > 0 ? 'fallback_providers' : 'fallback_model';
  return [
    { place: 'model', wanted: isSection(model) ? model : present({ default: textOf(model) }) },
    // Hermes ignores entries without a provider and a model.
    ...fallbacks.filter(isSection).map((wanted, index) => ({ place: `${key}.${index}`, wanted })),
  ];
}

/** `providers` is a mapping by name, `custom_providers` is a list. */
function namedProviders(config: Section): Record<string, Section> {
  const listed = Array.isArray(config.custom_providers) ? config.custom_providers.filter(isSection) : [];
  return {
    ...Object.fromEntries(listed.map((entry) => [textOf(entry.name)?.toLowerCase() ?? '', entry])),
    ...Object.fromEntries(
      Object.entries(sectionOf(config.providers)).map(([name, entry]) => [
        name.toLowerCase(),
        sectionOf(entry),
      ]),
    ),
  };
}

const PROVIDER_TODO =
  'add a model by hand under `models` (openai-compatible, openai or anthropic) and name it in `agents.default`';

function importModel(
  place: string,
  wanted: Section,
  named: Record<string, Section>,
  variables: Variables,
  notes: Notes,
): Record<string, unknown> | null {
  const written = (textOf(wanted.provider) ?? 'auto').toLowerCase();
  const provider = resolveProvider(written, wanted, variables);
  const own = named[provider] ?? named[provider.replace(/^custom:/, '')] ?? {};
  const known = providers[provider];
  const id = textOf(wanted.default) ?? textOf(wanted.model) ?? textOf(own.default_model) ?? textOf(own.model);
  if (id === undefined) {
    notes.add(place, 'names no model', PROVIDER_TODO);
    return null;
  }
  const mode = textOf(wanted.api_mode) ?? textOf(own.api_mode) ?? textOf(own.transport);
  if (mode !== undefined && !['chat_completions', 'anthropic_messages'].includes(mode)) {
    notes.add(place, `uses the protocol ${mode}, which Angelia does not support`, PROVIDER_TODO);
    return null;
  }
  const protocol: Provider['provider'] =
    mode === 'anthropic_messages' ? 'anthropic' : (known?.provider ?? 'openai-compatible');
  const baseUrl =
    textOf(wanted.base_url) ??
    textOf(own.base_url) ??
    textOf(own.api) ??
    textOf(own.url) ??
    (known?.baseUrlVariable === undefined ? undefined : variables.reference(known.baseUrlVariable)) ??
    known?.baseUrl;
  if (baseUrl === undefined && known === undefined) {
    notes.add(
      place,
      `provider ${written} has no address and key to import (it has its own login, or is unknown here)`,
      PROVIDER_TODO,
    );
    return null;
  }
  if (textOf(own.key_cmd) !== undefined || textOf(wanted.key_cmd) !== undefined) {
    notes.add(
      place,
      'gets its key from a command (`key_cmd`)',
      'put a key that does not expire into the environment',
    );
  }
  // The provider's own address is our default as well.
  const isDefault =
    protocol !== 'openai-compatible' &&
    /^https:\/\/api\.(openai|anthropic)\.com(\/v1)?\/?$/.test(baseUrl ?? '');
  const key = keyOf(place, provider, [wanted, own], known, variables);
  if (key === undefined && protocol !== 'openai-compatible' && (baseUrl === undefined || isDefault)) {
    notes.add(
      place,
      `${provider} has no key in Hermes' environment`,
      `set ${known?.keys[0] ?? 'the key'} in the environment (a login of Claude Code or of a browser does not work here)`,
    );
  }
  return present({
    provider: protocol,
    model: modelId(place, provider, id, notes),
    base_url: isDefault ? undefined : baseUrl?.replace(/\/+$/, ''),
    api_key:
      key ??
      (protocol !== 'openai-compatible' && known?.keys[0] !== undefined ? `\${${known.keys[0]}}` : undefined),
    headers: headersOf(place, [own, wanted], variables),
    context_tokens: countOf(wanted.context_length) ?? countOf(own.context_length),
    streaming: wanted.streaming === false ? false : undefined,
  });
}

function resolveProvider(written: string, wanted: Section, variables: Variables): string {
  if (written !== 'auto') return aliases[written] ?? written;
  const base = textOf(wanted.base_url) ?? '';
  if (base !== '') {
    const byHost = Object.entries(providers).find(
      ([, { baseUrl }]) => baseUrl !== undefined && base.startsWith(baseUrl),
    );
    return byHost?.[0] ?? 'custom';
  }
  return (
    autoOrder.find((name) =>
      (providers[name]?.keys ?? []).some((key) => variables.value(key) !== undefined),
    ) ?? 'auto'
  );
}

function keyOf(
  place: string,
  provider: string,
  places: readonly Section[],
  known: Provider | undefined,
  variables: Variables,
): string | undefined {
  for (const section of places) {
    const inline = textOf(section.api_key);
    if (inline !== undefined)
      return variables.secret(`${provider}_${place === 'model' ? '' : 'FALLBACK_'}API_KEY`, inline);
    const variable = textOf(section.key_env) ?? textOf(section.api_key_env);
    if (variable !== undefined && /^[A-Za-z_]\w*$/.test(variable)) return `\${${variable}}`;
  }
  // A custom endpoint uses OpenAI's variable, never OpenRouter's.
  return variables.reference(...(known?.keys ?? ['OPENAI_API_KEY']));
}

/** Hermes treats values of headers as secrets. */
function headersOf(place: string, places: readonly Section[], variables: Variables): Section | undefined {
  const all: Section = Object.assign(
    {},
    ...places.flatMap((one) => [sectionOf(one.default_headers), sectionOf(one.extra_headers)]),
  );
  const entries = Object.entries(all).flatMap(([name, value]) => {
    const text = textOf(value);
    return text === undefined ? [] : [[name, variables.secret(`${place}_${name}`, text)]];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** Hermes writes ids as OpenRouter does, and converts them for Anthropic's own API. */
function modelId(place: string, provider: string, id: string, notes: Notes): string {
  if (provider !== 'anthropic') return id;
  const own = id.replace(/^anthropic\//, '').replaceAll('.', '-');
  if (own !== id)
    notes.add(
      place,
      `model ${id} is now ${own}, as in Anthropic's API`,
      '`angelia doctor` checks whether the API has that name',
    );
  return own;
}
