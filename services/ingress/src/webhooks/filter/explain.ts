import { type FilterConfig, isSecretKey } from '@angelia/contracts';
import { indentedJson, truncate } from '../payload/indented-json.ts';

/** A value that a filter read from a webhook. */
export interface FieldValue {
  readonly field: string;
  /** undefined: the webhook does not have it. */
  readonly value: unknown;
}

/** Enough for a name, an action or a branch. A filter that looks at a longer text is recognised by its beginning. */
const LONGEST_VALUE = 100;
/** Of a list of allowed values: the config has them all. */
const LONGEST_WANTED = 60;
/** A compound filter reads several; the first few show what kind of webhook it was. */
const MOST_VALUES = 3;

const OPERATORS = [
  'exists',
  'missing',
  'equals',
  'not_equals',
  'contains',
  'in',
  'in_file',
  'regex',
] as const satisfies readonly (keyof FilterConfig)[];

/**
 * For the operator: which filter said no and what it saw, as `filters.0 (action in ["opened"]): action was "closed"`. Its
 * cost and its length are bounded, whatever the payload. A value whose name sounds like a secret is not shown.
 */
export function explainFilter(filter: FilterConfig, index: number, read: readonly FieldValue[]): string {
  const seen = read.slice(0, MOST_VALUES).map(({ field, value }) => `${field} ${sawText(field, value)}`);
  const more = read.length > MOST_VALUES ? [`and ${read.length - MOST_VALUES} more`] : [];
  return `filters.${index} (${ruleText(filter)}): ${[...seen, ...more].join(', ')}`;
}

function ruleText(filter: FilterConfig): string {
  for (const compound of ['all', 'any', 'not'] as const) if (filter[compound] !== undefined) return compound;
  const operator = OPERATORS.find((name) => Object.hasOwn(filter, name));
  if (operator === undefined) return filter.field ?? '';
  return `${filter.field} ${operator} ${jsonText(filter[operator], LONGEST_WANTED)}`;
}

function sawText(field: string, value: unknown): string {
  if (value === undefined) return 'is missing';
  if (field.split('.').some((key) => isSecretKey(key.trim()) || PROOF.test(key))) return 'is not shown';
  if (Array.isArray(value) && value.some(isObject)) return `was a list of ${value.length}`;
  // Whatever is inside has names of its own, and some may be secret.
  return isObject(value) && !Array.isArray(value) ? 'was an object' : `was ${jsonText(value, LONGEST_VALUE)}`;
}

/** Headers such as `x-hub-signature-256`; `isSecretKey` knows tokens, keys and passwords. */
const PROOF = /signature|hmac/i;

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !JSON.isRawJSON(value);
}

/** On one line. */
function jsonText(value: unknown, longest: number): string {
  // Indentation adds length; four times as much is enough for what is left of it.
  const text = indentedJson(value, 4 * longest).replace(/\n */g, '');
  return text.length <= longest ? text : `${truncate(text, longest)}…`;
}
