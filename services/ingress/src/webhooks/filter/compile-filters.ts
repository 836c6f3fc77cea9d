import type { IncomingHttpHeaders } from 'node:http';
import { compilePattern, MOST_PATTERN_WORK, openValueFile, ValueFileUnreadable } from '@angelia/config';
import type { FilterConfig } from '@angelia/contracts';
import { Refusal } from '../../http/refusal.ts';
import { indentedJson } from '../payload/indented-json.ts';
import { lookUp } from '../payload/lookup.ts';
import { explainFilter, type FieldValue } from './explain.ts';

/**
 * A route's `filters`, by the rules of the Hermes webhook adapter. They are compiled once per route from a checked
 * config: its schema checks shapes, and the definition of the route checks patterns and files.
 *
 * A `field` is a dotted path into the payload, with list indexes. Three first words are special:
 * - `payload.` is the payload's own `payload` if it has one (some providers wrap it), else the payload itself;
 * - `event` or `event_type`, alone, is the event's type (`event.x` is a path: Slack and others have such a key);
 * - `headers.` is a header of the request; upper and lower case do not matter.
 *
 * It returns null if the webhook passes, else which filter said no and what it saw.
 */
export type Filter = (subject: FilterSubject) => string | null;

export interface FilterSubject {
  readonly payload: unknown;
  readonly event: string | null;
  readonly headers: IncomingHttpHeaders;
}

/** One webhook on its way through the filters. */
interface Evaluation {
  /** How much work the route's patterns may still do for this webhook: see MOST_PATTERN_WORK. */
  left: number;
  /** What the current filter has read, for its explanation. */
  readonly read: FieldValue[];
}

type Condition = (subject: FilterSubject, evaluation: Evaluation) => boolean;
type Test = (value: unknown, evaluation: Evaluation) => boolean;

/** null: the route has no filters. */
export function compileFilters(filters: readonly FilterConfig[]): Filter | null {
  if (filters.length === 0) return null;
  const compiled = filters.map((filter, index) => ({ holds: compile(filter), index, filter }));
  return (subject) => {
    const evaluation: Evaluation = { left: MOST_PATTERN_WORK, read: [] };
    for (const { holds, index, filter } of compiled) {
      evaluation.read.length = 0;
      if (!holds(subject, evaluation)) return explainFilter(filter, index, evaluation.read);
    }
    return null;
  };
}

export interface JudgedFilter {
  readonly index: number;
  readonly passes: boolean;
  /** The filter, and the values that it saw. */
  readonly detail: string;
}

/** Each filter by itself, also after one that says no. For a preview. */
export function judgeFilters(filters: readonly FilterConfig[], subject: FilterSubject): JudgedFilter[] {
  return filters.map((filter, index) => {
    const evaluation: Evaluation = { left: MOST_PATTERN_WORK, read: [] };
    try {
      const passes = compile(filter)(subject, evaluation);
      return { index, passes, detail: explainFilter(filter, index, evaluation.read) };
    } catch (error) {
      if (!(error instanceof Refusal || error instanceof ValueFileUnreadable)) throw error;
      return { index, passes: false, detail: `filters.${index}: ${error.message}` };
    }
  });
}

function compile(filter: FilterConfig): Condition {
  if (filter.all !== undefined) return every(filter.all.map(compile));
  if (filter.any !== undefined) {
    const conditions = filter.any.map(compile);
    return (subject, evaluation) => conditions.some((holds) => holds(subject, evaluation));
  }
  if (filter.not !== undefined) {
    const inner = compile(filter.not);
    return (subject, evaluation) => !inner(subject, evaluation);
  }
  const field = filter.field ?? '';
  const read = compileField(field);
  const test = compileTest(filter);
  return (subject, evaluation) => {
    const value = read(subject);
    evaluation.read.push({ field, value });
    return test(value, evaluation);
  };
}

function every(conditions: readonly Condition[]): Condition {
  return (subject, evaluation) => conditions.every((holds) => holds(subject, evaluation));
}

/** undefined means "not there"; JSON has no such value. */
function compileField(field: string): (subject: FilterSubject) => unknown {
  const keys = field.split('.').map((key) => key.trim());
  const [first, ...rest] = keys;
  if (rest.length === 0 && (first === 'event' || first === 'event_type')) {
    return ({ event }) => event ?? undefined;
  }
  if (first === 'headers') {
    const name = rest.join('.').toLowerCase();
    return ({ headers }) => (Object.hasOwn(headers, name) ? headers[name] : undefined);
  }
  if (first === 'payload') {
    return ({ payload }) => {
      const inner = lookUp(payload, ['payload']);
      return lookUp(inner === undefined ? payload : inner, rest);
    };
  }
  return ({ payload }) => lookUp(payload, keys);
}

function compileTest(filter: FilterConfig): Test {
  const has = (operator: keyof FilterConfig): boolean => Object.hasOwn(filter, operator);
  if (has('exists')) return (value) => (value !== undefined) === filter.exists;
  if (has('missing')) return (value) => (value === undefined) === filter.missing;
  if (has('equals')) return (value) => value !== undefined && sameJson(value, filter.equals);
  if (has('not_equals')) return (value) => value === undefined || !sameJson(value, filter.not_equals);
  if (has('contains')) return (value) => value !== undefined && contains(value, filter.contains);
  if (has('in')) return isOneOf(filter.in ?? []);
  if (filter.in_file !== undefined) {
    const file = openValueFile(filter.in_file);
    let values = file.values();
    let test = isOneOf(values);
    return (value, evaluation) => {
      const now = file.values();
      if (now !== values) {
        values = now;
        test = isOneOf(now);
      }
      return test(value, evaluation);
    };
  }
  const pattern = compilePattern(filter.regex ?? '');
  if (!pattern.ok) throw new Error(`a pattern of a filter was not checked: ${pattern.reason}`);
  const { instructions } = pattern;
  return (value, evaluation) => {
    if (value === undefined) return false;
    const text = wholeTextOf(value, Math.floor(evaluation.left / instructions));
    evaluation.left -= text.length * instructions;
    return pattern.matches(text);
  };
}

/** Lists can be long (watch lists of ids), so strings, the usual case, are looked up in a set. */
function isOneOf(values: readonly unknown[]): Test {
  const strings = new Set(values.filter((value) => typeof value === 'string'));
  const others = values.filter((value) => typeof value !== 'string');
  return (value) => {
    if (value === undefined) return false;
    if (typeof value === 'string') return strings.has(value);
    return others.some((other) => sameJson(value, other)) || strings.has(longNumber(value) ?? '');
  };
}

function contains(value: unknown, wanted: unknown): boolean {
  if (Array.isArray(value)) return value.some((item) => sameJson(item, wanted));
  if (typeof value === 'object' && value !== null && !JSON.isRawJSON(value)) {
    return typeof wanted === 'string' && Object.hasOwn(value, wanted);
  }
  return textOf(value).includes(textOf(wanted));
}

/**
 * Whether a value of the payload equals the one in the config. It goes only as deep as the config's value, because a
 * payload may be nested deeper than the stack allows.
 */
function sameJson(value: unknown, wanted: unknown): boolean {
  if (value === wanted) return true;
  if (typeof value !== 'object' || value === null) return false;
  if (JSON.isRawJSON(value)) {
    return typeof wanted === 'string'
      ? longNumber(value) === wanted
      : Number(JSON.stringify(value)) === wanted;
  }
  if (typeof wanted !== 'object' || wanted === null || Array.isArray(value) !== Array.isArray(wanted))
    return false;
  const keys = Object.keys(wanted);
  return (
    Object.keys(value).length === keys.length &&
    keys.every(
      (key) =>
        Object.hasOwn(value, key) &&
        sameJson((value as Record<string, unknown>)[key], (wanted as Record<string, unknown>)[key]),
    )
  );
}

/** The digits of an integer that a double cannot hold (json-body.ts keeps them). The config has it in quotes. */
function longNumber(value: unknown): string | null {
  if (!JSON.isRawJSON(value)) return null;
  const digits = JSON.stringify(value);
  return Number.isSafeInteger(Number(digits)) || !/^-?\d+$/.test(digits) ? null : digits;
}

/** For a list or an object as indented JSON. Twice the default of `max_body_bytes`, because indentation adds length. */
const MOST_JSON = 2 * 1024 * 1024;

/**
 * The text that a pattern searches: the whole value or nothing. If only the beginning counted, somebody could make a
 * value longer to pass a filter (or a `not`) that should stop it. So a value that is too long is refused.
 *
 * @throws Refusal 413
 */
function wholeTextOf(value: unknown, most: number): string {
  const text = typeof value === 'string' ? value : indentedJson(value, Math.min(most, MOST_JSON) + 2);
  if (text.length <= most && (typeof value === 'string' || text.length <= MOST_JSON)) return text;
  throw new Refusal(
    413,
    'filter_value_too_long',
    'a value in the body is too long for the patterns in the filters of this route: send a shorter one',
  );
}

/** For `contains`, which searches strings and scalars only; the config says what it searches for. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
