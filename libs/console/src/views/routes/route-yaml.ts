import type { Settings } from '../../api/calls/route-calls.ts';
import type { JsonSchema } from '../../parts/json-schema/json-schema.ts';

/** A route as it stands in the config file, to paste. Settings that have their default are left out. */
export function routeYaml(name: string, settings: Settings, schema: JsonSchema): string {
  const own = Object.entries(settings).filter(([key, value]) => {
    const fallback = schema.properties?.[key]?.default;
    return value !== undefined && JSON.stringify(value) !== JSON.stringify(fallback);
  });
  const lines = own.flatMap(([key, value]) => entry(key, value, 2));
  const variable = `${name.toUpperCase().replaceAll('-', '_')}_SECRET`;
  return [
    'routes:',
    `  ${plainOrQuoted(name)}:`,
    // The gateway never shows a secret.
    `    # secret: \${${variable}}`,
    ...lines,
    '',
  ].join('\n');
}

const pad = (depth: number): string => '  '.repeat(depth);

function entry(key: string, value: unknown, depth: number): readonly string[] {
  const start = `${pad(depth)}${plainOrQuoted(key)}:`;
  if (isFilled(value)) return [start, ...block(value, depth + 1)];
  return withValue(start, value, depth);
}

function block(value: object, depth: number): readonly string[] {
  if (!Array.isArray(value)) return Object.entries(value).flatMap(([key, child]) => entry(key, child, depth));
  return value.flatMap((item: unknown) => {
    if (!isFilled(item)) return withValue(`${pad(depth)}-`, item, depth);
    // The first line of what is inside stands behind the dash.
    const [first = '', ...rest] = block(item, depth + 1);
    return [`${pad(depth)}- ${first.trimStart()}`, ...rest];
  });
}

const isFilled = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0;

function withValue(start: string, value: unknown, depth: number): readonly string[] {
  if (typeof value === 'string' && isBlockText(value)) {
    const ends = value.endsWith('\n');
    const lines = (ends ? value.slice(0, -1) : value).split('\n');
    return [
      `${start} ${ends ? '|' : '|-'}`,
      ...lines.map((line) => (line === '' ? '' : `${pad(depth + 1)}${line}`)),
    ];
  }
  return [`${start} ${typeof value === 'string' ? plainOrQuoted(value) : JSON.stringify(value ?? null)}`];
}

/** A text of several lines that YAML gives back exactly as it is. Others are quoted. */
function isBlockText(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: YAML does not allow them in a block.
  if (!text.includes('\n') || /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff]/.test(text))
    return false;
  return !/^\s/.test(text) && !/\n\n$/.test(text);
}

const WORDS_WITH_A_MEANING = /^(?:true|false|null|yes|no|on|off|y|n)$/i;

/** Quoted unless it is a plain word: JSON's quotes are also YAML's. */
function plainOrQuoted(text: string): string {
  const plain =
    /^[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*$/.test(text) && !WORDS_WITH_A_MEANING.test(text);
  return plain ? text : JSON.stringify(text);
}
