import { z } from 'zod';
import { authSchema } from './auth.ts';
import { filterSchema, filterSizeProblem } from './filters.ts';
import { toolsSchema } from './tools.ts';
import { name, positiveInt, positiveSeconds } from './values.ts';

/** No separators and no dots: this is a name and not a path. */
const skillName = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}$/,
    'the name of a skill has 1 to 63 letters, digits, - and _, and starts with a letter or a digit.',
  );

/** With the size limit of a skill this is half a megabyte of instructions: more than any model reads well. */
const MOST_SKILLS = 8;

/** Route keys of Hermes that we do not have. The error says what to do instead. */
export const refusedHermesKeys: Readonly<Record<string, string>> = {
  cron_job: 'Angelia has no scheduler. Let cron or a Kubernetes CronJob POST to the route.',
  profile: "Angelia has no profiles. Name an agent under `agents` and set the route's `agent`.",
  mirror_to_session:
    'Angelia has no such key. Set `session_key`, so that further webhooks go to the same session.',
};

/** One route. Also the body of PUT /v1/routes/{name}. */
export const routeSchema = z.strictObject({
  enabled: z.boolean().default(true),
  secret: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).optional(),
  auth: authSchema.optional(),
  events: z.array(z.string()).default([]),
  /** All of them must match. A single filter need not be in a list, as in Hermes. */
  filters: z.preprocess((given, context) => {
    const problem = filterSizeProblem(given);
    if (problem !== null) {
      context.addIssue({ code: 'custom', message: problem });
      return z.NEVER;
    }
    return typeof given === 'object' && given !== null && !Array.isArray(given) ? [given] : given;
  }, z.array(filterSchema).default([])),
  script: z.string().min(1).optional(),
  retry_on_script_failure: z.boolean().optional(),
  prompt: z.string().default('{__raw__}'),
  title: z.string().optional(),
  skills: z
    .array(skillName)
    .max(MOST_SKILLS, `the list is too long. A route has at most ${MOST_SKILLS} skills.`)
    .default([]),
  toolsets: z.array(z.string()).optional(),
  /** Its rules come before those of the agent. */
  tools: toolsSchema.optional(),
  agent: name.default('default'),
  deliver: z.string().min(1).default('log'),
  deliver_extra: z.record(z.string(), z.unknown()).default({}),
  fallback_target: z
    .strictObject({
      deliver: z.string().min(1),
      deliver_extra: z.record(z.string(), z.unknown()).default({}),
    })
    .optional(),
  deliver_only: z.boolean().default(false),
  /** What to do if the payload lacks a value that `prompt` or `title` names: `keep` the placeholder as written. */
  on_missing: z.enum(['keep', 'empty', 'refuse']).default('keep'),
  interim: z.enum(['message', 'edit', 'off']).default('message'),
  delivery_id: z.string().optional(),
  dedupe_window_seconds: positiveSeconds.default(600),
  coalesce: z
    .strictObject({
      key: z.string().min(1),
      window_seconds: positiveSeconds.default(30),
      max_wait_seconds: positiveSeconds.default(300),
    })
    .optional(),
  session_key: z.string().min(1).optional(),
  on_busy: z.enum(['enqueue', 'coalesce', 'interrupt', 'reject']).optional(),
  max_queue_seconds: positiveSeconds.optional(),
  rate_limit: z.number().int().nonnegative().optional(),
  max_concurrency: positiveInt.optional(),
});
