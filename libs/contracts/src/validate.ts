import type { z } from 'zod';
import { isSecretKey } from './secret-key.ts';
import { suggest } from './suggest.ts';

/** What a person reads about a wrong value: where it is, what is wrong with it, and what to do. */
export interface ConfigProblem {
  readonly place: string;
  readonly reason: string;
}

type Validated<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: ConfigProblem[] };

export interface ValidateOptions {
  /**
   * The document that wrong values are quoted from: what the person wrote, before variables were filled in. Default: the
   * value itself. Null: quote nothing. Values under keys that name a secret are never quoted.
   */
  readonly quoteFrom?: unknown;
  /** A better sentence for an unknown key. */
  readonly unknownKey?: (path: readonly string[], key: string) => string | undefined;
  /** Issues that are not problems here. */
  readonly ignore?: (issue: Issue) => boolean;
}

type Issue = z.core.$ZodIssue;

/**
 * Parses `value` and describes every problem in our own sentences. People never read the validator's texts: a schema may
 * bring its own sentence (`error`), and the table below has one for each code that zod can report.
 */
export function validate<T extends z.ZodType>(
  schema: T,
  value: unknown,
  options: ValidateOptions = {},
): Validated<z.output<T>> {
  const known: KnownKeys = new Map();
  const error = (issue: z.core.$ZodRawIssue): string => {
    if (issue.code === 'unrecognized_keys') known.set(issue.input, keysOf(issue.inst));
    return NO_SENTENCE;
  };
  const parsed = schema.safeParse(value, { error, reportInput: true });
  if (parsed.success) return { ok: true, value: parsed.data };
  const quote = quoter(value, options);
  const issues = parsed.error.issues.filter((issue) => options.ignore?.(issue) !== true);
  return { ok: false, problems: issues.flatMap((issue) => problemsOf(issue, quote, known, options)) };
}

/** The keys that an object with an unknown one may have. zod names the schema only while it makes the issue. */
type KnownKeys = Map<unknown, readonly string[]>;

function keysOf(schema: z.core.$ZodRawIssue['inst']): readonly string[] {
  const { shape } = (schema?._zod.def ?? {}) as { shape?: object };
  return Object.keys(shape ?? {});
}

/** Several problems in one line: sentences follow each other, everything else is separated by semicolons. */
export function inOneLine(problems: readonly string[]): string {
  return problems.reduce((line, problem) => `${line}${line.endsWith('.') ? ' ' : '; '}${problem}`);
}

/**
 * A sentence for the `error` of a schema: `this is not <what>. <advice>`, or that the value is missing. Never quotes the
 * value, so it fits URLs and credentials.
 */
export function notA(
  what: string,
  advice: string,
  missing = 'the value is missing',
): (issue: { readonly input?: unknown }) => string {
  return ({ input }) => {
    if (input === undefined) return `${missing}. ${advice}`;
    return input === null || input === ''
      ? `the value is empty. ${advice}`
      : `this is not ${what}. ${advice}`;
  };
}

/** Stands for the text of an issue whose schema has no sentence of its own. */
const NO_SENTENCE = '(no sentence)';

function problemsOf(
  issue: Issue,
  quote: Quote,
  known: KnownKeys,
  { unknownKey }: ValidateOptions,
): ConfigProblem[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      place: [...path, key].join('.'),
      reason: unknownKey?.(path, key) ?? unknownKeySentence(key, known.get(issue.input) ?? []),
    }));
  }
  return [{ place: path.join('.'), reason: sentenceOf(issue, { path: issue.path, quote }) }];
}

function unknownKeySentence(key: string, known: readonly string[]): string {
  const near = suggest(key, known);
  return near === null ? `unknown key \`${key}\`` : `unknown key \`${key}\`. Did you mean \`${near}\`?`;
}

/** Where an issue is. An issue inside of a union or a key has a path of its own, relative to the outer one. */
interface Where {
  readonly path: readonly PropertyKey[];
  readonly quote: Quote;
}

function sentenceOf(issue: Issue, where: Where): string {
  if (issue.message !== NO_SENTENCE) return issue.message;
  const sentence = sentences[issue.code] as (issue: Issue, where: Where) => string;
  return sentence(issue, where);
}

function sentenceOfInner(inner: Issue, where: Where): string {
  return sentenceOf(inner, { ...where, path: [...where.path, ...inner.path] });
}

/** One sentence for each code of issue. The compiler holds the table to zod's list of codes. */
const sentences: {
  readonly [Code in Issue['code']]: (issue: Extract<Issue, { code: Code }>, where: Where) => string;
} = {
  invalid_type: ({ expected, input }, where) => {
    const advice = write(expected, input);
    if (input === undefined) return `the value is missing. ${advice}`;
    if (input === null) return `the value is empty. ${advice.slice(0, -1)}, or remove the key.`;
    if (typeof input === 'object') return `${containerName(input)} cannot stand here. ${advice}`;
    return `${quoted(where, input)} is not ${typeName(expected)}. ${advice}`;
  },

  invalid_value: ({ values, input }, where) => choice(input, values, where),

  too_small: ({ origin, minimum, inclusive, exact, input }, where) => {
    const least = `${exact ? 'exactly' : inclusive === false ? 'more than' : 'at least'} ${minimum}`;
    switch (origin) {
      case 'number':
      case 'int':
      case 'bigint':
        return `${quoted(where, input)} is too small. Use ${least}.`;
      case 'string':
        return input === ''
          ? 'the string is empty. Write at least one character.'
          : `the string is too short. Write ${least} characters.`;
      case 'array':
      case 'set':
      case 'map':
        return `the list ${isEmpty(input) ? 'is empty' : 'is too short'}. Write ${least} ${minimum === 1 ? 'entry' : 'entries'}.`;
      default:
        return `the value is too small. Use ${least}.`;
    }
  },

  too_big: ({ origin, maximum, inclusive, exact, input }, where) => {
    const most = `${exact ? 'exactly' : inclusive === false ? 'less than' : 'at most'} ${maximum}`;
    switch (origin) {
      case 'number':
      case 'int':
      case 'bigint':
        return `${quoted(where, input)} is too large. Use ${most}.`;
      case 'string':
        return `the string is too long. Write ${most} characters.`;
      case 'array':
      case 'set':
      case 'map':
        return `the list is too long. Write ${most} ${maximum === 1 ? 'entry' : 'entries'}.`;
      default:
        return `the value is too large. Use ${most}.`;
    }
  },

  /** Never quotes the value: a URL may hold a password. */
  invalid_format: (issue) => {
    const { prefix, suffix, includes } = issue as { prefix?: string; suffix?: string; includes?: string };
    switch (issue.format) {
      case 'starts_with':
        return `the string has the wrong form. Start it with "${prefix}".`;
      case 'ends_with':
        return `the string has the wrong form. End it with "${suffix}".`;
      case 'includes':
        return `the string has the wrong form. It must contain "${includes}".`;
      case 'regex':
        return `the string has the wrong form. It must match ${issue.pattern ?? 'the pattern'}.`;
      default: {
        const [name, example] = formats[issue.format] ?? [`in the format ${issue.format}`, null];
        return `this is not ${name}. ${example === null ? 'Correct it.' : `Write one such as ${example}.`}`;
      }
    }
  },

  not_multiple_of: ({ divisor, input }, where) =>
    `${quoted(where, input)} is not a multiple of ${divisor}. Use a multiple of ${divisor}.`,

  unrecognized_keys: ({ keys }) =>
    keys.length === 1
      ? `unknown key \`${keys[0]}\``
      : `unknown keys ${keys.map((key) => `\`${key}\``).join(', ')}`,

  invalid_union: (issue, where) => {
    if ('options' in issue && issue.options !== undefined && issue.options.length > 0) {
      return choice(valueAt(issue.input, [issue.discriminator ?? '']), issue.options, where);
    }
    if (issue.errors.length === 0)
      return 'the value fits more than one of the allowed forms. Keep one of them.';
    const reasons = issue.errors.flatMap((errors) => errors.slice(0, 1));
    // The form that the value comes nearest to: its type is right, and something about or inside of it is wrong.
    const inside = reasons.find((reason) => reason.path.length > 0);
    if (inside !== undefined)
      return `${inside.path.map(String).join('.')}: ${sentenceOfInner(inside, where)}`;
    const near = reasons.find(({ code }) => code !== 'invalid_type' && code !== 'invalid_value');
    if (near !== undefined) return sentenceOfInner(near, where);
    const forms = reasons.flatMap((reason) => {
      if (reason.code === 'invalid_value') return reason.values.map(String);
      return reason.code === 'invalid_type' ? [typeName(reason.expected)] : [];
    });
    return `${subjectOf(issue.input, where)} cannot stand here. Use ${anyOf(forms)}.`;
  },

  invalid_key: ({ input, issues: [inner] }, where) =>
    `${JSON.stringify(input)} cannot be a key here: ${inner === undefined ? 'correct it.' : sentenceOfInner(inner, where)}`,

  invalid_element: ({ issues: [inner] }, where) =>
    `an entry is wrong: ${inner === undefined ? 'correct it.' : sentenceOfInner(inner, where)}`,

  custom: () => 'the value cannot be used here. Correct it.',
};

function choice(input: unknown, values: readonly unknown[], where: Where): string {
  const use = `Use ${anyOf(values.filter((value) => value !== undefined).map(String))}.`;
  if (input === undefined) return `the value is missing. ${use}`;
  if (input === null) return `the value is empty. ${use}`;
  return `${subjectOf(input, where)} is not ${choiceName(where.path)}. ${use}`;
}

/** For choices that have a better name than their key. */
const choiceNames: Readonly<Record<string, string>> = {
  'agents.kind': 'a kind of agent',
  'models.provider': 'a provider of models',
};

function choiceName(path: readonly PropertyKey[]): string {
  const key = path.findLast((part) => typeof part === 'string' && !/^\d+$/.test(part));
  if (key === undefined) return 'an allowed value';
  return choiceNames[`${String(path[0])}.${String(key)}`] ?? `a value of \`${String(key)}\``;
}

const types: Readonly<Record<string, readonly [name: string, advice: string]>> = {
  string: ['a string', 'Write a string.'],
  number: ['a number', 'Write a number.'],
  int: ['a whole number', 'Write a whole number.'],
  bigint: ['a whole number', 'Write a whole number.'],
  boolean: ['true or false', 'Write true or false.'],
  array: ['a list', 'Write a list, such as [a, b].'],
  object: ['an object', 'Write an object with keys and values.'],
  record: ['an object', 'Write an object with keys and values.'],
  null: ['null', 'Write null.'],
  date: ['a date', 'Write a date, such as 2026-01-31.'],
  never: ['allowed here', 'Remove it.'],
  undefined: ['allowed here', 'Remove it.'],
};

function typeName(expected: string): string {
  return types[expected]?.[0] ?? `of the type ${expected}`;
}

function write(expected: string, input: unknown): string {
  const advice = types[expected]?.[1] ?? `Write a value of the type ${expected}.`;
  if (expected === 'string' && (typeof input === 'number' || typeof input === 'boolean')) {
    return 'Put it in quotes.';
  }
  const isBare = ['number', 'int', 'bigint', 'boolean'].includes(expected);
  return isBare && typeof input === 'string' ? `${advice.slice(0, -1)}, without quotes.` : advice;
}

const formats: Readonly<Record<string, readonly [name: string, example: string | null]>> = {
  url: ['a URL', 'https://example.com'],
  email: ['a mail address', 'name@example.com'],
  ipv4: ['an IPv4 address', '192.0.2.1'],
  ipv6: ['an IPv6 address', '2001:db8::1'],
  cidrv4: ['an IPv4 network', '192.0.2.0/24'],
  cidrv6: ['an IPv6 network', '2001:db8::/32'],
  mac: ['a MAC address', '00:00:5e:00:53:01'],
  uuid: ['a UUID', '01890a5d-ac96-774b-bcce-b302099a8057'],
  guid: ['a UUID', '01890a5d-ac96-774b-bcce-b302099a8057'],
  datetime: ['a date and time', '2026-01-31T12:00:00Z'],
  date: ['a date', '2026-01-31'],
  time: ['a time', '12:00:00'],
  duration: ['a duration', 'PT5M'],
  base64: ['base64', null],
  base64url: ['base64url', null],
  hex: ['hexadecimal', null],
  hostname: ['a host name', 'example.com'],
  json_string: ['JSON', null],
  lowercase: ['in lower case', null],
  uppercase: ['in upper case', null],
  e164: ['a telephone number', '+15550100'],
};

function containerName(value: object): string {
  if (Array.isArray(value)) return 'a list';
  return value instanceof Date ? 'a date' : 'an object';
}

function subjectOf(input: unknown, where: Where): string {
  if (input === undefined) return 'a missing value';
  if (input === null) return 'an empty value';
  return typeof input === 'object' ? containerName(input) : quoted(where, input);
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value)
    ? value.length === 0
    : value instanceof Set || value instanceof Map
      ? value.size === 0
      : false;
}

function anyOf(names: readonly string[]): string {
  const different = [...new Set(names)];
  return different.length < 2
    ? (different[0] ?? 'another value')
    : `${different.slice(0, -1).join(', ')} or ${different.at(-1)}`;
}

/** The value at a place as it may be shown; null: it may not. */
type Quote = (path: readonly PropertyKey[], input: unknown) => string | null;

/** A longer text fills the line and says no more. */
const LONGEST_QUOTE = 60;
/** Maps whose values are often secrets, whatever their keys are. */
const PRIVATE_MAPS: ReadonlySet<PropertyKey> = new Set(['headers', 'env', 'environment']);

function quoter(value: unknown, options: ValidateOptions): Quote {
  const isApart = Object.hasOwn(options, 'quoteFrom');
  return (path, input) => {
    if (path.some((part) => PRIVATE_MAPS.has(part) || isSecretKey(String(part)))) return null;
    // A schema may rearrange the value before it looks at it: then the place is not in the document.
    const shown = valueAt(isApart ? options.quoteFrom : value, path) ?? (isApart ? undefined : input);
    if (typeof shown === 'string') return shown.length > LONGEST_QUOTE ? null : JSON.stringify(shown);
    return typeof shown === 'number' || typeof shown === 'boolean' || typeof shown === 'bigint'
      ? String(shown)
      : null;
  };
}

function quoted({ path, quote }: Where, input: unknown): string {
  return quote(path, input) ?? 'this value';
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Record<PropertyKey, unknown>)[key]
        : undefined,
    value,
  );
}
