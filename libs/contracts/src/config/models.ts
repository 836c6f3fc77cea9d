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
    .min(1000, 'a window of less than 1000 tokens holds no conversation')
    .default(128_000),
  /** The longest answer. Default: that of the provider. */
  max_output_tokens: positiveInt.optional(),
  /** False: for a server that cannot stream. Only `timeout_seconds` then detects a stalled model. */
  streaming: z.boolean().default(true),
};

/** The provider's own servers need a key. A server at a base_url may not. */
const withKey = (model: { base_url?: string | undefined; api_key?: string | undefined }) =>
  model.api_key !== undefined || model.base_url !== undefined;

const keyWanted = { error: 'an api_key is wanted', path: ['api_key'] };

export const modelSchema = z.discriminatedUnion('provider', [
  z.strictObject({ provider: z.literal('openai-compatible'), ...modelBase, base_url: baseUrl }),
  z.strictObject({ provider: z.literal('openai'), ...modelBase }).refine(withKey, keyWanted),
  z.strictObject({ provider: z.literal('anthropic'), ...modelBase }).refine(withKey, keyWanted),
  z.strictObject({ provider: z.literal('builtin'), model: z.literal('echo') }),
]);
