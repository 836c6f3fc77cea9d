// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is the syntax under test
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { configSchema, parseConfig } from './index.ts';
import { inOneLine, validate } from './validate.ts';

const linesOf = (schema: z.ZodType, value: unknown): string[] => {
  const checked = validate(schema, value);
  return checked.ok ? [] : checked.problems.map(({ place, reason }) => `${place}: ${reason}`);
};
const configLines = (raw: unknown, written: unknown = raw): string[] => {
  const parsed = parseConfig(raw, written);
  return parsed.ok ? [] : parsed.problems.map(({ place, reason }) => `${place}: ${reason}`);
};

describe('a mistake in the config file', () => {
  it.each<[string, unknown, string]>([
    [
      'a wrong discriminator',
      { agents: { default: { kind: 'lmm' } } },
      'agents.default.kind: "lmm" is not a kind of agent. Use llm, command or http.',
    ],
    [
      'a missing discriminator',
      { models: { m: { model: 'x' } } },
      'models.m.provider: the value is missing. Use openai-compatible, openai, anthropic or builtin.',
    ],
    [
      'a discriminator that is a list',
      { models: { m: { provider: [] } } },
      'models.m.provider: a list is not a provider of models. Use openai-compatible, openai, anthropic or builtin.',
    ],
    [
      'a wrong choice',
      { routes: { r: { on_busy: 'wait' } } },
      'routes.r.on_busy: "wait" is not a value of `on_busy`. Use enqueue, coalesce, interrupt or reject.',
    ],
    [
      'the only choice',
      { models: { m: { provider: 'builtin', model: 'x' } } },
      'models.m.model: "x" is not a value of `model`. Use echo.',
    ],
    [
      'an empty choice',
      { process_watcher: { network: null } },
      'process_watcher.network: the value is empty. Use host or none.',
    ],
    [
      'a string for a number',
      { limits: { rate_limit: 'many' } },
      'limits.rate_limit: "many" is not a number. Write a number, without quotes.',
    ],
    [
      'a string for a boolean',
      { retention: { export: 'yes' } },
      'retention.export: "yes" is not true or false. Write true or false, without quotes.',
    ],
    [
      'a number for a string',
      { routes: { r: { prompt: 5 } } },
      'routes.r.prompt: 5 is not a string. Put it in quotes.',
    ],
    [
      'a number with a fraction',
      { limits: { rate_limit: 1.5 } },
      'limits.rate_limit: 1.5 is not a whole number. Write a whole number.',
    ],
    [
      'infinity',
      { timing: { lease_seconds: Number.POSITIVE_INFINITY } },
      'timing.lease_seconds: Infinity is not a number. Write a number.',
    ],
    [
      'a string for a list',
      { routes: { r: { events: 'push' } } },
      'routes.r.events: "push" is not a list. Write a list, such as [a, b].',
    ],
    [
      'a list for an object',
      { routes: [] },
      'routes: a list cannot stand here. Write an object with keys and values.',
    ],
    [
      'an object for a string',
      { routes: { r: { prompt: { a: 1 } } } },
      'routes.r.prompt: an object cannot stand here. Write a string.',
    ],
    [
      'nothing for an object',
      { limits: null },
      'limits: the value is empty. Write an object with keys and values, or remove the key.',
    ],
    [
      'nothing for a record',
      { routes: null },
      'routes: the value is empty. Write an object with keys and values, or remove the key.',
    ],
    [
      'a list for the whole file',
      [],
      '(top): a list cannot stand here. Write an object with keys and values.',
    ],
    [
      'a string for the whole file',
      'hello',
      '(top): "hello" is not an object. Write an object with keys and values.',
    ],
    [
      'a missing value',
      { routes: { r: { coalesce: {} } } },
      'routes.r.coalesce.key: the value is missing. Write a string.',
    ],
    [
      'a number that is too small',
      { nats: { replicas: 0 } },
      'nats.replicas: 0 is too small. Use at least 1.',
    ],
    [
      'a number that is not positive',
      { timing: { lease_seconds: 0 } },
      'timing.lease_seconds: 0 is too small. Use more than 0.',
    ],
    [
      'a number that is too large',
      { nats: { replicas: 6 } },
      'nats.replicas: 6 is too large. Use at most 5.',
    ],
    [
      'an id with more digits than a number holds',
      { chats: { c: { platform: 'discord', speakers: { users: [2 ** 60] } } } },
      'chats.c.speakers.users.0: this number has too many digits to be read exactly. Put the id in quotes.',
    ],
    [
      'an empty string',
      { routes: { r: { script: '' } } },
      'routes.r.script: the string is empty. Write at least one character.',
    ],
    [
      'an empty list',
      { routes: { r: { secret: [] } } },
      'routes.r.secret: the list is empty. Write at least 1 entry.',
    ],
    [
      'a wrong entry in one of several forms',
      { routes: { r: { secret: ['long enough', ''] } } },
      'routes.r.secret.1: the string is empty. Write at least one character.',
    ],
    [
      'none of several forms',
      { process_watcher: { run_as: 'root' } },
      'process_watcher.run_as: "root" cannot stand here. Use auto, same or a number.',
    ],
    [
      'a wrong key',
      { routes: { 'My Route': {} } },
      'routes.My Route: "My Route" cannot be a key here: a name has 1 to 63 lower-case letters, digits, - and _, and starts with a letter or a digit.',
    ],
    ['an unknown key', { limitz: {} }, 'limitz: unknown key `limitz`. Did you mean `limits`?'],
    ['an unknown key that is like none', { colours: {} }, 'colours: unknown key `colours`'],
    [
      'an unknown key of a route',
      { routes: { r: { promt: 'x' } } },
      'routes.r.promt: unknown key `promt`. Did you mean `prompt`?',
    ],
    [
      'an unknown key of one kind of agent',
      { agents: { a: { kind: 'http', url: 'https://a.example', secret: 's', header: {} } } },
      'agents.a.header: unknown key `header`. Did you mean `headers`?',
    ],
    [
      'a wrong URL',
      { public_url: 'nowhere' },
      'public_url: this is not an http or https URL. Write one such as https://example.com.',
    ],
    [
      'a wrong network',
      { limits: { trusted_proxies: ['home'] } },
      'limits.trusted_proxies.0: this is not an IP address or a network. Write one such as 10.0.0.7 or 10.0.0.0/8.',
    ],
  ])('is told in a sentence with what to do: %s', (_mistake, raw, line) => {
    expect(configLines(raw)).toEqual([line]);
  });
});

describe('a code of issue that the config has no schema for', () => {
  it.each<[string, z.ZodType, unknown, string]>([
    ['not_multiple_of', z.number().multipleOf(5), 7, '7 is not a multiple of 5. Use a multiple of 5.'],
    ['invalid_element', z.set(z.string()), new Set([1]), ''],
    ['invalid_element', z.map(z.string(), z.string()), new Map([['a', 1]]), ''],
    [
      'too_small, exactly',
      z.string().length(3),
      'ab',
      'the string is too short. Write exactly 3 characters.',
    ],
    ['too_big', z.array(z.string()).max(1), ['a', 'b'], 'the list is too long. Write at most 1 entry.'],
    ['too_big', z.string().max(2), 'abc', 'the string is too long. Write at most 2 characters.'],
    ['too_small', z.date().min(new Date(0)), new Date(-1), 'the value is too small. Use at least 0.'],
    ['custom', z.string().refine(() => false), 'x', 'the value cannot be used here. Correct it.'],
    ['url', z.url(), 'x', 'this is not a URL. Write one such as https://example.com.'],
    ['email', z.email(), 'x', 'this is not a mail address. Write one such as name@example.com.'],
    ['uuid', z.uuid(), 'x', 'this is not a UUID. Write one such as 01890a5d-ac96-774b-bcce-b302099a8057.'],
    ['base64', z.base64(), '?', 'this is not base64. Correct it.'],
    ['a format without a name', z.ulid(), 'x', 'this is not in the format ulid. Correct it.'],
    ['regex', z.string().regex(/^a+$/), 'x', 'the string has the wrong form. It must match /^a+$/.'],
    ['starts_with', z.string().startsWith('a'), 'x', 'the string has the wrong form. Start it with "a".'],
    ['ends_with', z.string().endsWith('a'), 'x', 'the string has the wrong form. End it with "a".'],
    ['includes', z.string().includes('a'), 'x', 'the string has the wrong form. It must contain "a".'],
    ['never', z.never(), 'x', '"x" is not allowed here. Remove it.'],
    [
      'a missing union',
      z.union([z.string(), z.number()]),
      undefined,
      'a missing value cannot stand here. Use a string or a number.',
    ],
  ])('has a sentence: %s', (_code, schema, value, sentence) => {
    const [line = ''] = linesOf(schema, value);
    if (sentence !== '') expect(line).toBe(`: ${sentence}`);
    expect(line).not.toMatch(RAW);
  });
});

describe('a value that may be a secret', () => {
  it('is not quoted', () => {
    const secret = 12_345_678;
    const raw = {
      secret,
      models: { m: { provider: 'openai', model: 'x', api_key: secret, headers: { 'X-Any': secret } } },
      agents: { a: { kind: 'command', command: ['x'], env: { ANY: secret } } },
      routes: { r: { secret: [secret] } },
      process_watcher: { environment: { ANY: secret } },
    };
    const lines = configLines(raw);
    expect(lines.length).toBeGreaterThanOrEqual(6);
    expect(lines.join('\n')).not.toContain(String(secret));
    expect(lines).toContain('secret: this value is not a string. Put it in quotes.');
  });

  it('is not quoted if it came from a variable: the reference is', () => {
    const raw = {
      limits: { rate_limit: 'hunter2' },
      routes: { r: { filters: { field: 'a', exists: 'hunter2' } } },
    };
    const written = {
      limits: { rate_limit: '${RATE}' },
      routes: { r: { filters: { field: 'a', exists: '${EXISTS}' } } },
    };
    expect(configLines(raw, written)).toEqual([
      'limits.rate_limit: "${RATE}" is not a number. Write a number, without quotes.',
      'routes.r.filters.0.exists: this value is not true or false. Write true or false, without quotes.',
    ]);
  });

  it('is not quoted if it is long', () => {
    expect(configLines({ limits: { rate_limit: 'x'.repeat(100) } })).toEqual([
      'limits.rate_limit: this value is not a number. Write a number, without quotes.',
    ]);
  });
});

/** Words that only the validator uses. */
const RAW =
  /Invalid|invalid_|Unrecognized|Too (small|big)|expected|received|discriminator|must match pattern|\(no sentence\)|undefined|NaN|\[object/;

it('no wrong value makes the validator speak for itself', () => {
  const random = randomNumbers(15);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const wrong = [
    null,
    true,
    0,
    -1,
    1.5,
    1e300,
    '',
    'text',
    'A B',
    [],
    [null],
    [''],
    [[]],
    {},
    { a: null },
    { a: {} },
  ];
  const paths = pathsOf(z.toJSONSchema(configSchema, { io: 'input' }) as JsonSchema);
  expect(paths.length).toBeGreaterThan(150);
  let problems = 0;
  for (const path of paths) {
    for (let round = 0; round < wrong.length; round += 1) {
      const raw = {};
      put(raw, path, wrong[round]);
      // A second mistake elsewhere: problems of several parts come together.
      put(raw, pick(paths), pick(wrong));
      for (const line of configLines(raw)) {
        problems += 1;
        expect(line).not.toMatch(RAW);
        expect(line).toMatch(/^[^:]+: (.+\.|unknown key `[^`]+`(\. Did you mean `[^`]+`\?)?)$/s);
      }
    }
  }
  expect(problems).toBeGreaterThan(2_000);
});

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly const?: unknown;
}

/** Every place of the config, with the constants (`kind`, `provider`) that lead to it. */
type Path = readonly { readonly key: string; readonly beside: Readonly<Record<string, unknown>> }[];

function pathsOf(schema: JsonSchema, before: Path = []): Path[] {
  const here = before.length === 0 ? [] : [before];
  if (before.length > 5) return here;
  const beside = Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([key, inner]) =>
      inner.const === undefined ? [] : [[key, inner.const]],
    ),
  );
  const inner = Object.entries(schema.properties ?? {}).flatMap(([key, value]) =>
    pathsOf(value, [...before, { key, beside }]),
  );
  const entries =
    typeof schema.additionalProperties === 'object' ? schema.additionalProperties : schema.items;
  return [
    ...here,
    ...inner,
    ...(entries === undefined ? [] : pathsOf(entries, [...before, { key: '0', beside: {} }])),
    ...(schema.anyOf ?? schema.oneOf ?? []).flatMap((option) => pathsOf(option, before).slice(1)),
  ];
}

function put(root: Record<string, unknown>, path: Path, value: unknown): void {
  let at = root;
  path.forEach(({ key, beside }, index) => {
    if (typeof at !== 'object' || at === null) return;
    for (const [name, constant] of Object.entries(beside)) at[name] ??= constant;
    if (index === path.length - 1) at[key] = value;
    else {
      at[key] ??= path[index + 1]?.key === '0' ? [] : {};
      at = at[key] as Record<string, unknown>;
    }
  });
}

/** mulberry32: the same numbers in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

it('several problems make one line: sentences follow each other, the rest is separated', () => {
  expect(inOneLine(['a: this is wrong. Mend it.', 'b: no', 'c: yes'])).toBe(
    'a: this is wrong. Mend it. b: no; c: yes',
  );
});
