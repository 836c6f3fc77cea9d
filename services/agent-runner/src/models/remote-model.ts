import type { ModelConfig } from '@angelia/contracts';
import type { Model } from './model.ts';

export type RemoteModelConfig = Exclude<ModelConfig, { provider: 'builtin' }>;

/** A model that is called over the network. */
export function remoteModel(
  name: string,
  config: RemoteModelConfig,
  baseUrl: string,
  call: Model['call'],
): Model {
  const { hostname, port, protocol } = new URL(baseUrl);
  return {
    name,
    provider: config.provider,
    modelId: config.model,
    contextTokens: config.context_tokens,
    server: { address: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80) },
    streaming: config.streaming,
    call,
  };
}

/**
 * Of one response. A streamed token takes about 250 bytes: this is 250,000 tokens, more than any model answers with.
 *
 * No time limits: Node's own fetch gives up after 300 s without headers or without a byte of the body. The config says
 * how long a model may take (`timeout_seconds`, `stall_seconds`), and limitCallTime enforces it.
 */
export const CONNECTION_OPTIONS = {
  headersTimeout: 0,
  bodyTimeout: 0,
  maxResponseSize: 64 * 1024 * 1024,
} as const;
