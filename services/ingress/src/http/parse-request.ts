import { type ConfigProblem, validate } from '@angelia/contracts';
import { z } from 'zod';
import { Refusal } from './refusal.ts';

const DEFAULT_LIMIT = 50;
/** One page fills a screen, or is one step of a script. More would only load the database. */
const LARGEST_LIMIT = 200;

/** A query is text, but clients that are made from the OpenAPI document should pass a number. */
export function wholeNumber({ minimum, maximum }: { readonly minimum: number; readonly maximum: number }) {
  const message = `give a number from ${minimum} to ${maximum}`;
  return z
    .string()
    .regex(/^[0-9]{1,16}$/, message)
    .transform(Number)
    .refine((n) => n >= minimum && n <= maximum, message)
    .meta({ type: 'integer', minimum, maximum });
}

export const limit = wholeNumber({ minimum: 1, maximum: LARGEST_LIMIT })
  .default(DEFAULT_LIMIT)
  .describe(`how many, up to ${LARGEST_LIMIT}; ${DEFAULT_LIMIT} if left out`);

export const cursor = z
  .string()
  .min(1)
  .max(500)
  .optional()
  .describe('opaque: `next_cursor` of the previous page');

/** Sessions of a chat have the route `chat:<name>`. */
export const routeName = z.string().regex(/^(?:chat:)?[a-z0-9][a-z0-9_-]{0,62}$/, 'give the name of a route');

/** Of a filter. Postgres stores neither of the refused ones, and answers them with an error instead of no rows. */
export const searchText = z
  .string()
  .min(1)
  .refine((text) => !text.includes('\0') && text.isWellFormed(), {
    message: 'give a text without NUL and without halves of characters',
  });

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const TIME_FORM = 'give a time such as 2026-11-18T14:05:00Z, or how long ago: 15m, 2h, 7d';

/** With or without seconds, or a day. A time needs its zone: the server does not know that of the caller. */
const isoTime = z.union([
  z.iso.datetime({ offset: true }),
  z.iso.datetime({ offset: true, precision: -1 }),
  z.iso.date(),
]);

/** A time in milliseconds: as ISO 8601, or as how long ago it is. */
export const moment = z
  .string()
  .transform((text, context) => {
    const [, amount, unit = ''] = /^([0-9]{1,6})([mhd])$/.exec(text) ?? [];
    if (amount !== undefined) return Date.now() - Number(amount) * (UNIT_MS[unit] ?? 0);
    const time = isoTime.safeParse(text);
    if (time.success) return Date.parse(time.data);
    context.addIssue({ code: 'custom', message: TIME_FORM });
    return z.NEVER;
  })
  .meta({ description: 'ISO 8601, or how long ago: `15m`, `2h`, `7d`', example: '2h' });

/** @throws Refusal 400 that names the parameter */
export function parseQuery<T extends z.ZodType>(schema: T, query: unknown): z.infer<T> {
  const checked = validate(schema, query);
  if (checked.ok) return checked.value;
  const repeated = Object.entries(query ?? {}).find(([, value]) => Array.isArray(value))?.[0];
  if (repeated !== undefined)
    throw new Refusal(400, 'bad_query', `query parameter \`${repeated}\`: it is given twice. Give it once.`);
  throw new Refusal(400, 'bad_query', `query parameter ${firstOf(checked.problems)}`);
}

/** @throws Refusal 400 that names the field */
export function parseBody<T extends z.ZodType>(schema: T, body: unknown): z.infer<T> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Refusal(400, 'bad_body', 'the body must be a JSON object with content-type application/json');
  }
  const checked = validate(schema, body);
  if (checked.ok) return checked.value;
  const [problem] = checked.problems;
  const subject =
    problem?.place === '' ? `the body: ${problem.reason}` : `body field ${firstOf(checked.problems)}`;
  throw new Refusal(400, 'bad_body', subject);
}

function firstOf([problem]: readonly ConfigProblem[]): string {
  return `\`${problem?.place ?? ''}\`: ${problem?.reason ?? 'wrong'}`;
}
