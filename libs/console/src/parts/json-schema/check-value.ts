import { type JsonSchema, type JsonSchemas, resolved } from './json-schema.ts';

export interface Problem {
  /** `filters.0.regex`; empty: the value as a whole. */
  readonly place: string;
  readonly message: string;
}

/**
 * What is wrong with a value by its schema. Written by hand, because the libraries for this compile a schema with `eval`, which
 * the policy of the page forbids. The gateway checks everything again, and more: this only says it sooner.
 */
export function checkValue(
  value: unknown,
  given: JsonSchema,
  schemas: JsonSchemas,
  place = '',
): readonly Problem[] {
  const schema = resolved(given, schemas);
  const wrong = (message: string): readonly Problem[] => [{ place, message }];
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms !== undefined) return checkForms(value, forms, schemas, place);
  if ('const' in schema) return value === schema.const ? [] : wrong(`must be ${shown(schema.const)}`);
  if (schema.enum !== undefined)
    return schema.enum.includes(value) ? [] : wrong(`must be one of: ${schema.enum.map(String).join(', ')}`);
  if (schema.type !== undefined && !hasType(value, schema.type))
    return wrong(`must be ${TYPES[schema.type] ?? schema.type}`);
  if (typeof value === 'string') return checkText(value, schema).flatMap(wrong);
  if (typeof value === 'number') return checkNumber(value, schema).flatMap(wrong);
  if (Array.isArray(value)) return checkList(value, schema, schemas, place);
  if (isRecord(value)) return checkRecord(value, schema, schemas, place);
  return [];
}

const TYPES: Readonly<Record<string, string>> = {
  object: 'an object: { … }',
  array: 'a list: [ … ]',
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  null: 'null',
};

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function hasType(value: unknown, type: string): boolean {
  switch (type) {
    case 'object':
      return isRecord(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}

function checkText(text: string, { minLength = 0, maxLength, pattern }: JsonSchema): readonly string[] {
  if (text.length < minLength)
    return [minLength === 1 ? 'must not be empty' : `must have at least ${minLength} characters`];
  if (maxLength !== undefined && text.length > maxLength)
    return [`must have at most ${maxLength} characters`];
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(text)) return [`must match ${pattern}`];
  return [];
}

function checkNumber(value: number, schema: JsonSchema): readonly string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (minimum !== undefined && value < minimum) return [`must be at least ${minimum}`];
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
    return [`must be more than ${exclusiveMinimum}`];
  if (maximum !== undefined && value > maximum) return [`must be at most ${maximum}`];
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum)
    return [`must be less than ${exclusiveMaximum}`];
  return [];
}

const within = (place: string, key: string | number): string => (place === '' ? `${key}` : `${place}.${key}`);

function checkList(
  list: readonly unknown[],
  { items, minItems = 0, maxItems }: JsonSchema,
  schemas: JsonSchemas,
  place: string,
): readonly Problem[] {
  if (list.length < minItems) return [{ place, message: `must have at least ${minItems} of them` }];
  if (maxItems !== undefined && list.length > maxItems)
    return [{ place, message: `must have at most ${maxItems} of them` }];
  if (items === undefined) return [];
  return list.flatMap((item, index) => checkValue(item, items, schemas, within(place, index)));
}

function checkRecord(
  value: Readonly<Record<string, unknown>>,
  { properties = {}, required = [], additionalProperties = true }: JsonSchema,
  schemas: JsonSchemas,
  place: string,
): readonly Problem[] {
  const missing = required
    .filter((key) => value[key] === undefined)
    .map((key) => ({ place: within(place, key), message: 'is missing' }));
  const wrong = Object.entries(value).flatMap(([key, child]) => {
    const schema = Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
    if (schema === undefined || schema === true) return [];
    if (schema === false) return [{ place: within(place, key), message: 'is not a known key' }];
    return checkValue(child, schema, schemas, within(place, key));
  });
  return [...missing, ...wrong];
}

/** The problems of the form that the value comes nearest to: the one with the same type and the same constants. */
function checkForms(
  value: unknown,
  forms: readonly JsonSchema[],
  schemas: JsonSchemas,
  place: string,
): readonly Problem[] {
  const results = forms.map((form) => {
    const schema = resolved(form, schemas);
    const nested = schema.anyOf ?? schema.oneOf;
    const near = nested !== undefined || schema.type === undefined || hasType(value, schema.type);
    const problems = checkValue(value, form, schemas, place);
    return { problems, score: (near ? 0 : 1_000) + (contradicts(value, schema) ? 100 : 0) + problems.length };
  });
  if (results.some(({ problems }) => problems.length === 0)) return [];
  return results.toSorted((a, b) => a.score - b.score)[0]?.problems ?? [];
}

/** The value says by a constant key that it has another form: `scheme: token` is not the form of `scheme: hmac`. */
const contradicts = (value: unknown, { properties = {} }: JsonSchema): boolean =>
  isRecord(value) &&
  Object.entries(properties).some(([key, child]) => 'const' in child && value[key] !== child.const);
