import { readFileSync } from 'node:fs';
import { configJsonSchema, routeSchema } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { z } from 'zod';
import { variables } from './environment.ts';
import { knownTargets, targetSchema } from './targets/schemas.ts';

/** docs/configure.md and the table of docs/targets.md say what the schemas say: every key, no other, the same defaults. */

const docs = (name: string) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');
const page = docs('configure.md');

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly oneOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly default?: unknown;
}

/** Default by key; a key without one is undefined. Groups of keys (`resume: {...}`) are `resume.max_attempts` and so on. */
function keysOf(schema: JsonSchema): Map<string, unknown> {
  const keys = new Map<string, unknown>();
  for (const variant of schema.oneOf ?? schema.anyOf ?? [schema]) {
    for (const [key, value] of Object.entries(variant.properties ?? {})) {
      if (value.properties === undefined) keys.set(key, keys.get(key) ?? value.default);
      else for (const [inner, preset] of keysOf(value)) keys.set(`${key}.${inner}`, preset);
    }
  }
  return keys;
}

/** The rows of all tables of a section that begin with a key and its default. */
function rowsOf(section: string): Map<string, unknown> {
  const rows = section.matchAll(/^\| `([A-Za-z_.]+)` +\| (?:`(.*?)`)? +\|/gm);
  return new Map(
    [...rows].map(([, key = '', preset]) => [key, preset === undefined ? undefined : parse(preset)]),
  );
}

function sectionOf(heading: string): string {
  const from = page.indexOf(`\n## ${heading}\n`);
  if (from === -1) throw new Error(`docs/configure.md has no section ${heading}`);
  const to = page.indexOf('\n## ', from + 1);
  return page.slice(from, to === -1 ? undefined : to);
}

const schema = configJsonSchema() as JsonSchema;
const sections = Object.entries(schema.properties ?? {});
/** For a part with names that the user chooses (`models`): the schema of each entry. */
const inside = (section: JsonSchema): JsonSchema =>
  typeof section.additionalProperties === 'object' ? section.additionalProperties : section;
const TEXTS = ['secret', 'public_url', 'jaeger_url'];
/** They have their own pages. */
const ELSEWHERE = ['targets', 'routes'];

describe('docs/configure.md', () => {
  it('has a section for every part of the file, and no other', () => {
    const headings = [...page.matchAll(/^## (`.+)$/gm)].flatMap(
      ([, heading = '']) => heading.match(/[a-z_]+/g) ?? [],
    );
    expect(headings.sort()).toEqual(sections.map(([name]) => name).sort());
  });

  it.each(sections.filter(([name]) => ![...TEXTS, ...ELSEWHERE].includes(name)))(
    'has a row with the default for every key of `%s`',
    (name, section) => {
      const keys = keysOf(inside(section));
      expect(keys.size).toBeGreaterThan(0);
      expect(rowsOf(sectionOf(`\`${name}\``))).toEqual(keys);
    },
  );

  it('has a row for each of the strings at the top', () => {
    expect([...rowsOf(sectionOf('`secret`, `public_url`, `jaeger_url`')).keys()]).toEqual(TEXTS);
  });

  it('names every key of a route, whose table is in docs/routes.md', () => {
    const named = new Set(
      sectionOf('`routes`')
        .replace('## `routes`', '')
        .match(/(?<=`)[a-z_.]+(?=`)/g),
    );
    const groups = ['coalesce'];
    const keys = [...keysOf(z.toJSONSchema(routeSchema, { io: 'input' }) as JsonSchema).keys()];
    const own = keys.filter((key) => !key.startsWith('fallback_target.'));
    expect([...named].sort()).toEqual([...own, 'fallback_target', ...groups].sort());
  });

  it('has a row with the default for every environment variable', () => {
    const wanted = keysOf(z.toJSONSchema(variables, { io: 'input', unrepresentable: 'any' }) as JsonSchema);
    // Only the launcher reads these.
    wanted.set('ANGELIA_REPLICAS', undefined);
    wanted.set('ANGELIA_LOCAL_PORTS', undefined);
    expect(rowsOf(sectionOf('Environment'))).toEqual(wanted);
  });
});

describe('docs/targets.md', () => {
  const rows = new Map(
    [...docs('targets.md').matchAll(/^\| `([a-z_]+)` +\|([^|]*)\|([^|]*)\|/gm)].map(
      ([, name = '', address = '', options = '']) => [name, { address, options }],
    ),
  );
  const namesIn = (cell = ''): string[] => [...(cell.match(/(?<=`)[a-z_]+(?=`)/g) ?? [])].sort();
  const neededIn = (cell = ''): string[] => [...(cell.match(/(?<=\*\*`)[a-z_]+(?=`\*\*)/g) ?? [])].sort();
  const jsonOf = (part: z.ZodType) =>
    z.toJSONSchema(part, { io: 'input', unrepresentable: 'any' }) as JsonSchema & { required?: string[] };

  it('has a row for every target', () => {
    expect([...rows.keys()].sort()).toEqual([...knownTargets].sort());
  });

  it.each(knownTargets)(
    'lists the optional and required keys of `targets.%s` and of its `deliver_extra`',
    (name) => {
      const { options, address } = targetSchema(name);
      expect(namesIn(rows.get(name)?.options)).toEqual([...keysOf(jsonOf(options)).keys()].sort());
      expect(neededIn(rows.get(name)?.options)).toEqual([...(jsonOf(options).required ?? [])].sort());
      expect(namesIn(rows.get(name)?.address)).toEqual([...keysOf(jsonOf(address)).keys()].sort());
      // Where one of several is needed, each of them is in bold, and the schema requires none by name.
      expect(neededIn(rows.get(name)?.address)).toEqual(
        expect.arrayContaining(jsonOf(address).required ?? []),
      );
    },
  );
});
