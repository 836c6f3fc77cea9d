import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { hintSchema, ownerHints, STREAM_NAME, unhintedTypes } from '../subjects.ts';
import { chatEventSchemas } from './chat-events.ts';
import { metaSchema } from './envelope.ts';
import { jobEventSchemas } from './job-events.ts';
import { routeEventSchemas } from './route-events.ts';
import { eventSchemas, keyEventSchemas, SCHEMA_VERSION } from './session-events.ts';

/** docs/events.md has exactly our event types and fields. */
const page = readFileSync(new URL('../../../../docs/events.md', import.meta.url), 'utf8');

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}
const schemas: Readonly<Record<string, z.ZodType>> = {
  ...eventSchemas,
  ...keyEventSchemas,
  ...routeEventSchemas,
  ...jobEventSchemas,
  ...chatEventSchemas,
};
const jsonOf = (schema: z.ZodType) => z.toJSONSchema(schema, { io: 'input' }) as JsonSchema;
const fieldsOf = (schema: z.ZodType) => Object.keys(jsonOf(schema).properties ?? {});

/** The first cells of the first table after `start`. */
function rowsAfter(start: string): string[] {
  const from = page.indexOf(start);
  if (from === -1) throw new Error(`docs/events.md does not contain: ${start}`);
  const table = /\n\|.*\n\| -.*\n((?:\|.*\n)*)/.exec(page.slice(from))?.[1] ?? '';
  return [...table.matchAll(/^\| `([a-z_]+)`/gm)].map(([, name]) => name as string);
}

/** The nested objects of the data: a target, tool calls and so on. */
function partsIn(schema: JsonSchema): string[][] {
  const nested = [...Object.values(schema.properties ?? {}), ...(schema.anyOf ?? [])];
  if (schema.items !== undefined) nested.push(schema.items);
  return nested.flatMap((inner) => [
    ...(inner.properties === undefined ? [] : [Object.keys(inner.properties).sort()]),
    ...partsIn(inner),
  ]);
}

describe('docs/events.md', () => {
  it('has a section for exactly the event types', () => {
    const sections = [...page.matchAll(/^#### `(.+)`$/gm)].map(([, type]) => type);
    expect(sections.sort()).toEqual(Object.keys(schemas).sort());
  });

  it.each(Object.entries(schemas))('has a row for every field of %s, in order', (type, schema) => {
    expect(rowsAfter(`#### \`${type}\`\n`)).toEqual(fieldsOf(schema));
  });

  it('has a table for every nested object', () => {
    const documented = [...page.matchAll(/\*\*.*\*\*.*:\n\n\| part/g)].map(([heading]) =>
      rowsAfter(heading).sort(),
    );
    const used = new Set(Object.values(schemas).flatMap((schema) => partsIn(jsonOf(schema)).map(String)));
    expect(documented.map(String).sort()).toEqual([...used].sort());
  });

  it('has the metadata, the hint and their names', () => {
    expect(rowsAfter('`meta`:\n').sort()).toEqual(fieldsOf(metaSchema).sort());
    expect(rowsAfter('A message on the bus is')).toEqual(fieldsOf(hintSchema));
    for (const name of [STREAM_NAME, ...ownerHints]) expect(page).toContain(`\`${name}\``);
    expect(page).toContain(`\`schema_version\` is ${SCHEMA_VERSION} for every type`);
  });

  it('says which events are not hinted', () => {
    const list = /^Not hinted.*?; and the first/ms.exec(page)?.[0] ?? '';
    expect([...list.matchAll(/`([a-z.-]+)`/g)].map(([, type]) => type)).toEqual(unhintedTypes);
  });

  it('has no broken links within the page', () => {
    const anchors = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^a-z0-9 _-]/g, '')
        .replaceAll(' ', '-'),
    );
    for (const [, anchor] of page.matchAll(/\]\(#(.+?)\)/g)) expect(anchors).toContain(anchor);
  });
});
