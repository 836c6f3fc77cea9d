import { z } from 'zod';
import { positiveSeconds } from './values.ts';

/** A rule is tried on every call of a tool. A longer list is a mistake, and costs time on each call. */
const MOST_RULES = 100;
/** Long enough for any command line that a person writes into a config. */
const LONGEST_PATTERN = 1_000;

const rule = z.strictObject({
  /** Name of a tool, with `*` for any characters: `terminal`, `mcp__github__*`. */
  tool: z.string().min(1).max(200),
  /** Pattern for the command line of `terminal`, or for the arguments of any other tool as canonical JSON. Missing: any. */
  match: z.string().min(1).max(LONGEST_PATTERN).optional(),
  do: z.enum(['allow', 'ask', 'deny']),
});

/** `link`, or a user of a chat platform. */
const approver = z
  .string()
  .regex(
    /^(link|[a-z_]+:\S+)$/,
    'this is not an approver. Write `link` for whoever has the link of a request, or a user of a chat such as ' +
      '`telegram:123456`. The admin token may always decide.',
  )
  // Mail addresses are the same however they are written, and an actor has them in lower case.
  .transform((approver) => (approver.startsWith('email:') ? approver.toLowerCase() : approver));

/** What tools may do without asking a person: key `tools` of an agent and of a route. */
export const toolsSchema = z.strictObject({
  /** The first rule that matches a call decides. A call that none matches is allowed. */
  policy: z
    .array(rule)
    .max(MOST_RULES, `the list is too long. A policy has at most ${MOST_RULES} rules.`)
    .default([]),
  /** Who may approve besides the admin token. Default: whoever has the link, or may speak in the chat that is asked. */
  approvers: z
    .array(approver)
    .min(1, 'the list is empty. Name at least one approver, or remove the key.')
    .optional(),
  /** A request that nobody decides by then is denied. Default: one hour. */
  approval_expires_seconds: positiveSeconds.optional(),
});
