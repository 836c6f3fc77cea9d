import { z } from 'zod';
import { baseUrl, positiveInt, positiveSeconds } from './values.ts';

const modelBase = {
  model: z.string().min(1),
  base_url: baseUrl.optional(),
  api_key: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  /** Limit for a whole call. */
  timeout_seconds: positiveSeconds.default(600),
  /** The model counts as stalled after this long without a token. */
  stall_seconds: positiveSeconds.default(90),
  /** The context window of the model. Close to it, a summary replaces older steps. */
  context_tokens: positiveInt
    .min(1000, 'the window is too small for a conversation. Use at least 1000 tokens.')
    .default(128_000),
  /** The longest answer. Default: that of the provider. */
  max_output_tokens: positiveInt.optional(),
  /** How much the model thinks before it answers. Default: as the provider does it. */
  reasoning: z
    .strictObject({
      effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh']).optional(),
      /** The most tokens for thoughts, in addition to `max_output_tokens`. Only for provider `anthropic`. */
      budget_tokens: positiveInt
        .min(1024, 'Anthropic takes no smaller budget. Use at least 1024 tokens.')
        .optional(),
    })
    .optional(),
  /** True: the model takes images. Others are told that there is one. */
  images: z.boolean().default(false),
  /** False: for a server that cannot stream. Only `timeout_seconds` then detects a stalled model. */
  streaming: z.boolean().default(true),
};

/** The provider's own servers need a key. A server at a base_url may not. */
const withKey = (model: { base_url?: string | undefined; api_key?: string | undefined }) =>
  model.api_key !== undefined || model.base_url !== undefined;

const keyMissing = {
  error: 'the value is missing. Set `api_key`, or the `base_url` of a server that needs none.',
  path: ['api_key'],
};

/** The chat-completions protocol has no field for it, and a setting that does nothing would not be noticed. */
const withoutBudget = (model: { reasoning?: { budget_tokens?: number | undefined } | undefined }) =>
  model.reasoning?.budget_tokens === undefined;

const budgetUnknown = {
  error: 'this provider has no budget for thoughts. Use `effort` instead.',
  path: ['reasoning', 'budget_tokens'],
};

export const modelSchema = z.discriminatedUnion('provider', [
  z
    .strictObject({ provider: z.literal('openai-compatible'), ...modelBase, base_url: baseUrl })
    .refine(withoutBudget, budgetUnknown),
  z
    .strictObject({ provider: z.literal('openai'), ...modelBase })
    .refine(withKey, keyMissing)
    .refine(withoutBudget, budgetUnknown),
  z.strictObject({ provider: z.literal('anthropic'), ...modelBase }).refine(withKey, keyMissing),
  z.strictObject({ provider: z.literal('builtin'), model: z.literal('echo') }),
]);
