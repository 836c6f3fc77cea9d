import { describe, expect, it } from '@jest/globals';
import type { JsonSchema } from '../../../parts/json-schema/json-schema.ts';
import { fieldAt, fieldsOf, problemsOf, settingsOf, textsOf } from './route-fields.ts';

const schema: JsonSchema = {
  type: 'object',
  properties: {
    enabled: { type: 'boolean', default: true },
    secret: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
    auth: {
      anyOf: [
        { type: 'string', enum: ['github', 'svix'] },
        { type: 'object', properties: {} },
      ],
    },
    events: { type: 'array', items: { type: 'string' }, default: [] },
    filters: { type: 'array', items: { type: 'object' }, default: [] },
    script: { type: 'string' },
    prompt: { type: 'string', default: '{__raw__}' },
    on_missing: { type: 'string', enum: ['keep', 'empty'], default: 'keep' },
    deliver_extra: { type: 'object', additionalProperties: {} },
    rate_limit: { type: 'integer', minimum: 0 },
    of_a_newer_gateway: { type: 'string', description: 'What it does.' },
  },
  additionalProperties: false,
};
const fields = fieldsOf(schema);
const kind = (key: string) => fields.find((field) => field.key === key)?.kind;

describe('the form of a route', () => {
  it('is made from the schema', () => {
    expect(
      [
        'enabled',
        'secret',
        'auth',
        'events',
        'filters',
        'prompt',
        'on_missing',
        'deliver_extra',
        'rate_limit',
      ].map(kind),
    ).toEqual(['flag', 'secret', 'word', 'lines', 'json', 'template', 'choice', 'json', 'number']);
    expect(fields.find(({ key }) => key === 'on_missing')).toMatchObject({
      options: ['keep', 'empty'],
      fallback: 'keep',
    });
  });

  it('has settings that only a newer gateway knows, and none that only the config file may have', () => {
    expect(fields.find(({ key }) => key === 'of_a_newer_gateway')).toMatchObject({
      hint: 'What it does.',
      main: false,
    });
    expect(kind('script')).toBeUndefined();
  });

  it('shows a route and gives the same settings back', () => {
    const settings = {
      enabled: false,
      auth: { scheme: 'hmac', header: 'x-signature' },
      events: ['push', 'Merge Request Hook'],
      filters: [{ field: 'action', in: ['opened', null] }],
      prompt: '  Look at {title}\n\n',
      deliver_extra: { chat_id: '-100{chat}' },
      rate_limit: 0,
    };
    expect(settingsOf(fields, textsOf(fields, settings))).toEqual({ settings, problems: [] });
  });

  it('leaves out what is empty, so that it has its default', () => {
    expect(settingsOf(fields, { prompt: '  ', events: '\n', rate_limit: '' })).toEqual({
      settings: {},
      problems: [],
    });
  });

  it('says what cannot be read, and what the schema does not allow', () => {
    const texts = { filters: '[{', rate_limit: '-1', on_missing: 'none' };
    const problems = problemsOf(fields, texts, schema, {});
    expect(problems.map(({ place }) => place)).toEqual(['filters', 'on_missing', 'rate_limit']);
    expect(problems[2]?.message).toBe('must be at least 0');
  });
});

it('a place is in a setting', () => {
  expect(['filters.0.regex', 'prompt', 'filters[0]'].map(fieldAt)).toEqual(['filters', 'prompt', 'filters']);
});
