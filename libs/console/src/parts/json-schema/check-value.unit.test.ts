import { describe, expect, it } from '@jest/globals';
import { checkValue } from './check-value.ts';
import type { JsonSchema, JsonSchemas } from './json-schema.ts';

const schemas: JsonSchemas = {
  Filter: {
    type: 'object',
    properties: {
      field: { type: 'string' },
      equals: {},
      regex: { type: 'string', minLength: 1, maxLength: 5 },
      not: { $ref: '#/components/schemas/Filter' },
      all: { type: 'array', minItems: 1, items: { $ref: '#/components/schemas/Filter' } },
    },
    additionalProperties: false,
  },
};
const route: JsonSchema = {
  type: 'object',
  properties: {
    agent: { type: 'string', pattern: '^[a-z]+$', default: 'default' },
    filters: { type: 'array', maxItems: 2, items: { $ref: '#/components/schemas/Filter' } },
    window: { type: 'number', exclusiveMinimum: 0, maximum: 10 },
    rate: { type: 'integer', minimum: 0 },
    mode: { type: 'string', enum: ['keep', 'empty'] },
    extra: { type: 'object', additionalProperties: {} },
    auth: {
      anyOf: [
        { type: 'string', enum: ['github', 'svix'] },
        {
          oneOf: [
            {
              type: 'object',
              properties: {
                scheme: { const: 'hmac' },
                header: { type: 'string' },
                prefix: { type: 'string' },
              },
              required: ['scheme', 'header'],
              additionalProperties: false,
            },
            {
              type: 'object',
              properties: { scheme: { const: 'token' }, header: { type: 'string' } },
              required: ['scheme', 'header'],
              additionalProperties: false,
            },
          ],
        },
      ],
    },
  },
  required: ['agent'],
  additionalProperties: false,
};
const check = (value: unknown) =>
  checkValue(value, route, schemas).map(({ place, message }) => `${place}: ${message}`);

it('a value that fits has no problem', () => {
  expect(
    check({
      agent: 'main',
      filters: [{ field: 'a', equals: null }, { all: [{ not: { field: 'b' } }] }],
      window: 0.5,
      rate: 0,
      mode: 'keep',
      extra: { anything: [1, { deep: true }] },
      auth: { scheme: 'hmac', header: 'x-signature' },
    }),
  ).toEqual([]);
});

describe('a wrong value is named with its place', () => {
  it.each<[string, unknown, readonly string[]]>([
    ['a missing key', {}, ['agent: is missing']],
    ['an unknown key', { agent: 'a', agnet: 'b' }, ['agnet: is not a known key']],
    ['a wrong type', { agent: 7 }, ['agent: must be a text']],
    ['a pattern', { agent: 'A1' }, ['agent: must match ^[a-z]+$']],
    ['a value out of a list', { agent: 'a', mode: 'none' }, ['mode: must be one of: keep, empty']],
    [
      'a bound',
      { agent: 'a', window: 0, rate: -1 },
      ['window: must be more than 0', 'rate: must be at least 0'],
    ],
    ['a fraction', { agent: 'a', rate: 1.5 }, ['rate: must be a whole number']],
    [
      'deep inside',
      { agent: 'a', filters: [{ not: { regex: '' } }] },
      ['filters.0.not.regex: must not be empty'],
    ],
    [
      'too short a list',
      { agent: 'a', filters: [{ all: [] }] },
      ['filters.0.all: must have at least 1 of them'],
    ],
    ['too long a list', { agent: 'a', filters: [{}, {}, {}] }, ['filters: must have at most 2 of them']],
    ['the whole', [], [': must be an object: { … }']],
  ])('%s', (_, value, problems) => {
    expect(check(value)).toEqual(problems);
  });

  it('by the form that it comes nearest to, where there are several', () => {
    expect(check({ agent: 'a', auth: 'gitbuh' })).toEqual(['auth: must be one of: github, svix']);
    expect(check({ agent: 'a', auth: { scheme: 'token' } })).toEqual(['auth.header: is missing']);
    expect(check({ agent: 'a', auth: { scheme: 'token', header: 'x', prefix: 'y' } })).toEqual([
      'auth.prefix: is not a known key',
    ]);
  });
});
