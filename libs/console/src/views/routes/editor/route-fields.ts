import type { Settings } from '../../../api/calls/route-calls.ts';
import { checkValue, type Problem } from '../../../parts/json-schema/check-value.ts';
import type { JsonSchema, JsonSchemas } from '../../../parts/json-schema/json-schema.ts';

/**
 * How a setting is edited. `template`: an editor of text. `lines`: one item per line. `word`: a text, or JSON if it begins with a
 * brace. `json`: an editor of JSON.
 */
export type FieldKind =
  | 'flag'
  | 'choice'
  | 'number'
  | 'text'
  | 'template'
  | 'lines'
  | 'word'
  | 'json'
  | 'secret';

export interface Field {
  readonly key: string;
  readonly kind: FieldKind;
  readonly options: readonly string[];
  /** As text; empty: it has none. */
  readonly fallback: string;
  readonly hint: string;
  /** Shown at first. */
  readonly main: boolean;
}

/** What is in the form: every setting as text. An empty text leaves it to its default. */
export type Texts = Readonly<Record<string, string>>;

/** Only the config file may have them: they name files of the gateway. */
const ONLY_IN_FILE = new Set(['script', 'retry_on_script_failure']);
const TEMPLATES = new Set(['prompt', 'title']);
const MAIN = [
  'enabled',
  'prompt',
  'title',
  'events',
  'filters',
  'deliver',
  'deliver_extra',
  'agent',
  'auth',
  'secret',
];

/** From docs/routes.md, shortened. A key without a hint is still shown. */
const HINTS: Readonly<Record<string, string>> = {
  enabled: 'Off: its webhooks are answered 403.',
  secret:
    'What senders prove that they know. Empty: a new route gets a generated one, an existing one keeps its own.',
  auth: 'The scheme of the signature: a name, or a description as JSON. Empty: detected from the headers.',
  events: 'The event types to accept, one per line. Empty: all.',
  filters: 'Conditions on the payload, as a list. A webhook that fails one is ignored.',
  prompt: 'What the agent is told. {path.of.a.value} is filled in from the payload; {__raw__} is all of it.',
  title: 'The title of the session. Empty: the first words of the prompt.',
  skills: 'Texts to add to the instructions of the agent, one name per line.',
  toolsets: 'Replaces the toolsets of the agent, one name per line.',
  agent: 'A name under agents in the config file.',
  deliver: 'The target of statuses and answers.',
  deliver_extra: 'Where at that target, such as { "chat_id": "{sender.id}" }. Values are templates.',
  fallback_target: 'Where an output goes after deliver is given up.',
  deliver_only: 'No agent: the rendered prompt is the answer.',
  on_missing:
    'If the payload lacks a value of a template: keep the placeholder, leave it empty, or refuse the webhook.',
  interim: 'Interim statuses: a message each, one message that is edited, or none.',
  delivery_id: 'The template for an id, for senders that send none.',
  dedupe_window_seconds: 'How long two equal bodies without an id count as one webhook.',
  coalesce: 'A burst becomes one session: { "key": "{id}", "window_seconds": 30 }.',
  session_key: 'Webhooks with the same key are turns of the same session.',
  on_busy: 'What a webhook does to a keyed session that is busy.',
  max_queue_seconds: 'A webhook that no runner starts within this time expires.',
  rate_limit: 'Accepted webhooks per minute. 0: no limit.',
  max_concurrency: 'Concurrent runs of this route.',
};

/** The form of a route, from its JSON Schema: a setting that a newer gateway knows appears by itself. */
export function fieldsOf(schema: JsonSchema): readonly Field[] {
  const fields = Object.entries(schema.properties ?? {})
    .filter(([key]) => !ONLY_IN_FILE.has(key))
    .map(([key, property]) => fieldOf(key, property));
  const rank = ({ key }: Field) => (MAIN.includes(key) ? MAIN.indexOf(key) : MAIN.length);
  return fields.toSorted((a, b) => rank(a) - rank(b));
}

function fieldOf(key: string, schema: JsonSchema): Field {
  const kind = kindOf(key, schema);
  const named = schema.anyOf?.find((form) => form.enum !== undefined);
  return {
    key,
    kind,
    options: (schema.enum ?? named?.enum ?? []).map(String),
    fallback: schema.default === undefined ? '' : textOf(kind, schema.default),
    hint: HINTS[key] ?? schema.description ?? '',
    main: MAIN.includes(key),
  };
}

function kindOf(key: string, schema: JsonSchema): FieldKind {
  if (key === 'secret') return 'secret';
  if (TEMPLATES.has(key)) return 'template';
  if (schema.enum !== undefined) return 'choice';
  if (schema.type === 'boolean') return 'flag';
  if (schema.type === 'number' || schema.type === 'integer') return 'number';
  if (schema.type === 'string') return 'text';
  if (schema.type === 'array' && schema.items?.type === 'string') return 'lines';
  if (schema.anyOf?.some((form) => form.enum !== undefined)) return 'word';
  return 'json';
}

function textOf(kind: FieldKind, value: unknown): string {
  if (value === undefined) return '';
  if (kind === 'lines' && Array.isArray(value)) return value.map(String).join('\n');
  if (kind !== 'json' && typeof value === 'string') return value;
  return kind === 'flag' || kind === 'number' ? String(value) : JSON.stringify(value, null, 2);
}

/** The settings of a route as texts. */
export function textsOf(fields: readonly Field[], settings: Settings): Texts {
  return Object.fromEntries(
    fields.flatMap(({ key, kind, fallback }) => {
      const text = textOf(kind, settings[key]);
      // An empty editor says better than `[]` that there is none.
      return text === '' || (kind === 'json' && text === fallback) ? [] : [[key, text]];
    }),
  );
}

/** The texts as settings, and which of them cannot be read. */
export function settingsOf(
  fields: readonly Field[],
  texts: Texts,
): { readonly settings: Settings; readonly problems: readonly Problem[] } {
  const settings: Record<string, unknown> = {};
  const problems: Problem[] = [];
  for (const { key, kind } of fields) {
    const text = texts[key] ?? '';
    if (text.trim() === '') continue;
    try {
      settings[key] = parsedText(kind, text);
    } catch (error) {
      problems.push({ place: key, message: error instanceof Error ? error.message : 'cannot be read' });
    }
  }
  return { settings, problems };
}

function parsedText(kind: FieldKind, text: string): unknown {
  switch (kind) {
    case 'flag':
      return text === 'true';
    case 'number': {
      const number = Number(text);
      if (!Number.isFinite(number)) throw new Error('must be a number');
      return number;
    }
    case 'lines':
      return text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '');
    case 'word':
      return text.trimStart().startsWith('{') ? JSON.parse(text) : text.trim();
    case 'json':
      return JSON.parse(text);
    case 'template':
      return text;
    default:
      return text.trim();
  }
}

/** What is wrong with the form, sooner than the gateway can say it. */
export function problemsOf(
  fields: readonly Field[],
  texts: Texts,
  schema: JsonSchema,
  schemas: JsonSchemas,
): readonly Problem[] {
  const { settings, problems } = settingsOf(fields, texts);
  return [...problems, ...checkValue(settings, schema, schemas)];
}

/** The setting that a place is in: `filters` for `filters.0.regex`. */
export const fieldAt = (place: string): string => place.split(/[.[]/, 1)[0] ?? '';
