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

export const modelSchema = z.discriminatedUnion('provider', [
  z.strictObject({ provider: z.literal('openai-compatible'), ...modelBase, base_url: baseUrl }),
  z.strictObject({ provider: z.literal('openai'), ...modelBase }).refine(withKey, keyMissing),
  z.strictObject({ provider: z.literal('anthropic'), ...modelBase }).refine(withKey, keyMissing),
  z.strictObject({ provider: z.literal('builtin'), model: z.literal('echo') }),
]);
