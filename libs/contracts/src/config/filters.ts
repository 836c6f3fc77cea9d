import { z } from 'zod';

/** The operator that a filter applies to its `field`. */
export const fieldOperators = [
  'exists',
  'missing',
  'equals',
  'not_equals',
  'contains',
  'in',
  'in_file',
  'regex',
] as const;

export const groupOperators = ['all', 'any', 'not'] as const;

/** A longer pattern is really a list. Use `in` or `in_file` for that. */
const LONGEST_PATTERN = 1000;

const filterShape = z.strictObject({
  field: z.string().optional(),
  exists: z.boolean().optional(),
  missing: z.boolean().optional(),
  equals: z.unknown().optional(),
  not_equals: z.unknown().optional(),
  contains: z.unknown().optional(),
  in: z
    .array(z.unknown())
    .min(1, 'the list is empty, so the filter never matches. Write at least one entry.')
    .optional(),
  in_file: z.string().min(1).optional(),
  regex: z
    .string()
    .min(1)
    .max(LONGEST_PATTERN, `the pattern is too long. Write at most ${LONGEST_PATTERN} characters.`)
    .optional(),
  get all() {
    return z.array(filterSchema).min(1, 'the list is empty. Write at least one filter.').optional();
  },
  get any() {
    return z.array(filterSchema).min(1, 'the list is empty. Write at least one filter.').optional();
  },
  get not() {
    return filterSchema.optional();
  },
});

/** Hermes takes the first operator that it knows and silently ignores the rest. Here exactly one must be given. */
export const filterSchema: z.ZodType<FilterConfig, FilterConfig> = filterShape.superRefine(
  (given, context) => {
    const groups = groupOperators.filter((name) => Object.hasOwn(given, name));
    const operators = fieldOperators.filter((name) => Object.hasOwn(given, name));
    const refuse = (message: string) => context.addIssue({ code: 'custom', message });
    if (groups.length + operators.length !== 1) {
      const all = [...fieldOperators, ...groupOperators].join(', ');
      refuse(`a filter has exactly one of ${all}. For several, write a list of filters or use \`all\`.`);
    } else if (groups.length === 1 && given.field !== undefined) {
      refuse(`\`${groups[0]}\` has no \`field\` of its own. Write \`field\` in each filter inside it.`);
    } else if (operators.length === 1) {
      const problem = fieldProblem(given.field);
      if (problem !== null) refuse(problem);
    }
    for (const name of ['equals', 'not_equals', 'contains', 'in'] as const) {
      if (holdsInexactNumber(given[name])) {
        refuse(`\`${name}\`: this number is too long to be kept exactly. Put it in quotes.`);
      }
    }
  },
);

export interface FilterConfig {
  field?: string | undefined;
  exists?: boolean | undefined;
  missing?: boolean | undefined;
  equals?: unknown;
  not_equals?: unknown;
  contains?: unknown;
  in?: unknown[] | undefined;
  in_file?: string | undefined;
  regex?: string | undefined;
  all?: FilterConfig[] | undefined;
  any?: FilterConfig[] | undefined;
  not?: FilterConfig | undefined;
}

function fieldProblem(field: string | undefined): string | null {
  if (field === undefined)
    return 'the filter has no `field`. Set it, for example to `action` or `headers.X-Kind`.';
  if (field.split('.').some((part) => part.trim() === ''))
    return `\`${field}\` is not a path. Write one such as a.b.0.c.`;
  return field === 'headers'
    ? '`headers` alone is not a field. Name a header, such as `headers.X-Kind`.'
    : null;
}

/** Every request evaluates the filters of its route, and a route may come from the API. Both bounds are far above real use. */
const MOST_FILTER_VALUES = 10_000;

const DEEPEST_FILTER = 32;

/** Goes level by level. With recursion, a hostile document could overflow the stack. */
export function filterSizeProblem(filters: unknown): string | null {
  let level = [filters];
  let values = 0;
  for (let depth = 0; level.length > 0; depth += 1) {
    values += level.length;
    if (depth > DEEPEST_FILTER)
      return `the filters are nested too deep. Use at most ${DEEPEST_FILTER} levels.`;
    if (values > MOST_FILTER_VALUES) {
      return `the filters have more than ${MOST_FILTER_VALUES} values. Put a long list into a file (\`in_file\`).`;
    }
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
  }
  return null;
}

function holdsInexactNumber(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsInexactNumber);
}
