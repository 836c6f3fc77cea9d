import { isSessionId, type SessionId } from '@angelia/contracts';
import { z } from 'zod';
import { Refusal } from './refusal.ts';

const DEFAULT_LIMIT = 50;
/** One page is a screen or a script's step; more is a load on the database for nobody's eyes. */
const LARGEST_LIMIT = 200;

export const limit = z
  .string()
  .regex(/^[0-9]{1,4}$/, `a number from 1 to ${LARGEST_LIMIT} is wanted`)
  .transform(Number)
  .refine((n) => n >= 1 && n <= LARGEST_LIMIT, `a number from 1 to ${LARGEST_LIMIT} is wanted`)
  .default(DEFAULT_LIMIT)
  .describe(`how many, up to ${LARGEST_LIMIT}; ${DEFAULT_LIMIT} when left out`);

export const cursor = z
  .string()
  .min(1)
  .max(500)
  .optional()
  .describe('opaque: `next_cursor` of the page before');

/** As a filter. Never a shortened one: it might fit several sessions. */
export const wholeId = z.string().refine(isSessionId, 'the whole id of a session is wanted');

export const routeName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'the name of a route is wanted');

export const sessionsQuery = z.strictObject({
  route: routeName.optional(),
  status: z.enum(['queued', 'running', 'waiting', 'ended']).optional(),
  limit,
  cursor,
});

/** @throws Refusal 400 that names the parameter */
export function parseQuery<T extends z.ZodType>(schema: T, query: unknown): z.infer<T> {
  const parsed = schema.safeParse(query);
  if (parsed.success) return parsed.data;
  throw new Refusal(400, 'bad_query', `query parameter ${whatIsWrong(parsed.error)}`);
}

/** @throws Refusal 400 that names the field */
export function parseBody<T extends z.ZodType>(schema: T, body: unknown): z.infer<T> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Refusal(400, 'bad_body', 'the body must be a JSON object, with content-type application/json');
  }
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new Refusal(400, 'bad_body', `body field ${whatIsWrong(parsed.error)}`);
}

function whatIsWrong(error: z.ZodError): string {
  const [issue] = error.issues;
  const keys = issue?.code === 'unrecognized_keys' ? issue.keys : (issue?.path ?? []);
  return `\`${keys.map(String).join('.')}\`: ${issue?.message ?? 'wrong'}`;
}

/** @throws Refusal 400 for anything but a whole id: a shortened one might fit several sessions, and is never guessed */
export function wholeSessionId(text: string): SessionId {
  if (isSessionId(text)) return text;
  throw new Refusal(
    400,
    'bad_session_id',
    'this is no session id: the whole lower-case uuid is wanted, as `session_id` or GET /v1/sessions give it; ids are never shortened',
  );
}
