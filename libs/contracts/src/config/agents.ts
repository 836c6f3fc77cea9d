import { z } from 'zod';
import { notA } from '../validate.ts';
import { toolsSchema } from './tools.ts';
import { httpUrl, name, positiveInt, positiveSeconds, seconds } from './values.ts';

const resume = z.strictObject({
  freshness_seconds: positiveSeconds.default(3600),
  max_attempts: positiveInt.default(3),
  max_interruption_seconds: positiveSeconds.default(86_400),
});

/** What follows when no model of the agent can be used for a reason that passes, or that the operator can mend. */
const retry = z.strictObject({
  /** Pauses between the tries of a turn. The last one repeats. */
  schedule_seconds: z
    .array(positiveSeconds)
    .min(1, 'the list is empty. Write at least one pause. To fail at once, set max_seconds: 0.')
    .default([5, 15, 60, 300, 900]),
  /** The longest wait of a turn, from the first failure on. 0: it fails at once. */
  max_seconds: seconds.default(7200),
});

/** The keys of every kind of agent. */
const agentBase = {
  /** Limit for a whole run. */
  timeout_seconds: positiveSeconds.default(1800),
  resume: resume.prefault({}),
  max_concurrency: positiveInt.default(64),
  status_interval_seconds: seconds.default(180),
};

/** A model and its tools, step by step. */
const llmAgent = z.strictObject({
  // Optional, so that an agent without a kind matches this schema. The default then fills it in.
  kind: z.literal('llm').optional().default('llm'),
  model: name.optional(),
  fallback_models: z.array(name).default([]),
  system: z
    .string()
    .default('You are a helpful agent. Finish the task you are given and answer with the result.'),
  toolsets: z.array(z.string()).default([]),
  tools: toolsSchema.optional(),
  max_steps: positiveInt.default(40),
  retry: retry.prefault({}),
  budget: z.strictObject({ max_tokens: positiveInt.default(200_000) }).prefault({}),
  clarify: z
    .strictObject({
      timeout_seconds: positiveSeconds.default(3600),
      on_timeout: z.enum(['end', 'continue']).default('end'),
    })
    .prefault({}),
  processes: z
    .strictObject({
      max_wait_seconds: positiveSeconds.default(86_400),
      max_per_session: positiveInt.default(16),
    })
    .prefault({}),
  ...agentBase,
});

/** A program: it reads the prompt from stdin and prints the answer to stdout. Its exit code decides about success. */
const commandAgent = z.strictObject({
  kind: z.literal('command'),
  /** The program and its arguments, without a shell. */
  command: z
    .array(z.string(), {
      error: notA('a list', 'Write the program and its arguments, such as [run, --fast].'),
    })
    .min(1, 'the list is empty. Write the program and its arguments, such as [run, --fast].'),
  /** Working directory. Default: the session's own directory. */
  cwd: z.string().min(1).optional(),
  /** Added to a small clean environment. The program gets no other variables of ours. */
  env: z.record(z.string(), z.string()).default({}),
  /** Names in `env` whose values are secrets, besides those that a name shows to be one (`secretEnvironmentOf`). */
  secret_env: z.array(z.string()).default([]),
  /** Directories that the sessions of this agent use together, although each session has a user of its own. */
  shared_dirs: z.array(z.string().min(1)).default([]),
  /** False: the program keeps the conversation itself, and only the message of the turn goes to its stdin. */
  send_history: z.boolean().default(true),
  /** A line of output with this prefix is an interim status and not part of the answer. */
  status_prefix: z.string().min(1).default('::status '),
  /** A longer answer fails the run, because half an answer could say the opposite. */
  max_output_bytes: positiveInt.max(16 * 1_048_576).default(1_048_576),
  ...agentBase,
});

/** A remote service: a signed POST, with the answer in the response or in a later callback. */
const httpAgent = z.strictObject({
  kind: z.literal('http'),
  url: httpUrl,
  /** Signs our requests (Standard Webhooks). */
  secret: z
    .string({
      error: notA('a string', 'An agent of kind http needs a secret, because requests to it are signed.'),
    })
    .min(1),
  headers: z.record(z.string(), z.string()).default({}),
  /** Limit for one request. An agent that needs longer answers 202 and calls back. */
  request_timeout_seconds: positiveSeconds.default(300),
  retry: retry.prefault({}),
  ...agentBase,
});

export const agentSchema = z.discriminatedUnion('kind', [llmAgent, commandAgent, httpAgent]);
