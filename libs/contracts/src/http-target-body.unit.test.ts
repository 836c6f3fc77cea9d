import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { httpTargetBody } from './http-target-body.ts';

it('docs/targets.md has the schema of what an http target receives', () => {
  const page = readFileSync(new URL('../../../docs/targets.md', import.meta.url), 'utf8');
  const section = page.slice(page.indexOf('## What an `http` target receives'));
  const documented: unknown = JSON.parse(section.split('```json\n')[1]?.split('\n```')[0] ?? '');
  const schema = z.toJSONSchema(httpTargetBody, {
    io: 'input',
    override: ({ jsonSchema }) => {
      // Half a page that `format` says too, and the largest number that JSON can have.
      if (jsonSchema.format === 'uuid' || jsonSchema.format === 'date-time') delete jsonSchema.pattern;
      delete jsonSchema.maximum;
    },
  });
  expect(documented).toEqual(JSON.parse(JSON.stringify(schema)));
});
