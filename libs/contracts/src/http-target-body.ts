import { z } from 'zod';

/**
 * What the target `http` posts, one request per output. Public (INTERFACES.md, "The http target"): add, never change.
 * docs/targets.md has it as JSON Schema, and the OpenAPI document as a webhook; tests keep all three the same.
 */
const output = z.object({
  clarification: z
    .literal(true)
    .optional()
    .describe('only on an `interim-status` that is a question: the text has the link to answer it'),
  approval: z
    .literal(true)
    .optional()
    .describe('only on an `interim-status` that asks for an approval: the text says how to decide'),
  session_id: z.uuid(),
  delivery_id: z.string().describe('of the webhook that started the session'),
  route: z.string(),
  text: z.string().describe('Markdown, whole'),
  version: z.number().int().positive().describe('of the output in its session; outputs come in this order'),
});

/** `type`, `timestamp` and `data` are what Standard Webhooks recommends. The other fields are older, and stay. */
export const httpTargetBody = z.object({
  type: z
    .enum(['interim-status', 'final-response'])
    .describe('`interim-status`: more follows. `final-response`: the answer to the turn'),
  ...output.shape,
  possible_duplicate: z
    .boolean()
    .describe('an earlier attempt may have arrived: look for `webhook-id` among those that you have taken'),
  timestamp: z.iso.datetime().describe('when the output was written; the same on every attempt'),
  data: output.describe('the same fields again, where libraries of Standard Webhooks look for them'),
});
export type HttpTargetBody = z.infer<typeof httpTargetBody>;
