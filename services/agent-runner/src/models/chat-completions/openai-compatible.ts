import { scrubber } from '@angelia/config';
import type { ModelConfig } from '@angelia/contracts';
import { asModelFailure } from '../as-model-failure.ts';
import { limitCallTime } from '../call-time-limits.ts';
import { checkedReply } from '../checked-reply.ts';
import { ownRequest, reasoningOwner } from '../kept-reasoning.ts';
import type { Model } from '../model.ts';
import { CONNECTION_OPTIONS, remoteModel } from '../remote-model.ts';
import { AnswerReader } from './answer-reader.ts';
import { chatRequest } from './chat-request.ts';
import { Exchange } from './exchange.ts';

type OpenAICompatibleConfig = Extract<ModelConfig, { provider: 'openai-compatible' }>;

/**
 * Any server that speaks OpenAI's chat-completions protocol at `{base_url}/chat/completions`. This client is ours and not
 * the AI SDK's, whose streams and schemas took most of the CPU of a short session (docs/bench.md).
 */
export async function openAICompatibleModel(name: string, config: OpenAICompatibleConfig): Promise<Model> {
  const { Pool } = await import('undici');
  const url = new URL(`${config.base_url.replace(/\/$/, '')}/chat/completions`);
  const server = new Pool(url.origin, CONNECTION_OPTIONS);
  const headers = headersOf(config);
  const scrub = scrubber([config.api_key ?? '', ...Object.values(config.headers ?? {})]);
  const options = {
    model: config.model,
    maxTokens: config.max_output_tokens,
    effort: config.reasoning?.effort,
    stream: config.streaming,
  };
  const owner = reasoningOwner(config);

  return remoteModel(name, config, config.base_url, async (request, signal) => {
    signal.throwIfAborted();
    const post = {
      method: 'POST',
      path: url.pathname,
      headers,
      body: chatRequest(ownRequest(request, config), options),
    } as const;
    const timer = limitCallTime(name, config, signal, (reason) => exchange.abort(reason));
    if (!config.streaming) timer.withoutTokens();
    const exchange = new Exchange(server, post, new AnswerReader(timer.tokenReceived));
    try {
      return checkedReply(name, owner, request, await exchange.result);
    } catch (error) {
      throw signal.aborted ? signal.reason : asModelFailure(name, scrub, error);
    } finally {
      timer.stop();
    }
  });
}

/** The configured headers come last: they may replace ours. */
function headersOf({ api_key, headers = {} }: OpenAICompatibleConfig): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': 'angelia',
    // Answers are small, and a compressed stream comes in larger and later pieces.
    'accept-encoding': 'identity',
    ...(api_key === undefined ? {} : { authorization: `Bearer ${api_key}` }),
    ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
  };
}
