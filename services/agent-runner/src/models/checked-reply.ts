import { keepReasoning } from './kept-reasoning.ts';
import { ModelFailure, type ModelReply, type ModelRequest, type ModelUsage } from './model.ts';
import { tokensOfMessage, tokensOfRequest } from './rough-tokens.ts';
import { withoutThoughts } from './thoughts-in-text.ts';

/** What a client read, before it is known to be an answer. */
export interface ReadReply extends Omit<ModelReply, 'usage' | 'reasoning'> {
  /** What the provider wants back, in the form of the client. */
  readonly reasoning?: unknown;
  /** As far as the server counts. */
  readonly usage: { readonly input: number | undefined; readonly output: number | undefined };
  /** False: it ended without a finish reason. */
  readonly complete: boolean;
}

/** In characters, thoughts included; about a million tokens. Some models, mostly small ones, repeat themselves for ever. */
export const LONGEST_ANSWER = 4_000_000;
/** Each call is an event. 8,000 of them held up all other runs for 2 s; no work needs a tenth of that. */
const MOST_CALLS = 512;

export function assertNotEndless(length: number): void {
  if (length > LONGEST_ANSWER) throw new Error(`an answer of more than ${LONGEST_ANSWER} characters`);
}

/** Refuses an answer that was cut off, and an empty one that is not the model's choice. */
export function checkedReply(
  name: string,
  owner: string,
  request: ModelRequest,
  reply: ReadReply | null,
): ModelReply {
  if (reply === null || !reply.complete) {
    throw new ModelFailure('cut_off', `model ${name}: the answer stopped before its end`, {
      retryable: true,
    });
  }
  if (reply.toolCalls.length > MOST_CALLS) {
    const asked = `it asks for ${reply.toolCalls.length} calls at once`;
    throw new ModelFailure('protocol', `model ${name}: ${asked}`, { retryable: true });
  }
  const { complete: _, usage, reasoning, ...read } = reply;
  const said = { ...read, text: withoutThoughts(read.text) };
  const isKept = reasoning !== undefined && said.toolCalls.length > 0;
  const isCounted = usage.input !== undefined && usage.output !== undefined;
  const answer = {
    ...said,
    usage: usageOf(usage, request, read),
    ...(isCounted ? {} : { usageIsEstimate: true }),
    ...(isKept ? { reasoning: keepReasoning(name, owner, reasoning) } : {}),
  };
  const empty = answer.text.trim() === '' && answer.toolCalls.length === 0;
  if (empty && (answer.finishReason === 'length' || answer.finishReason === 'content-filter')) {
    const why = answer.finishReason === 'length' ? 'it had no tokens left for' : 'the provider withheld';
    throw new ModelFailure('refused', `model ${name}: ${why} the answer`, { retryable: false });
  }
  return answer;
}

/** For a call without arguments most models write no text. */
export function writtenArguments(text: string): string {
  return text.trim() === '' ? '{}' : text;
}

/** Not every server counts tokens. Then our own estimate enforces the agent's budget. */
function usageOf(
  { input, output }: ReadReply['usage'],
  request: ModelRequest,
  { text, toolCalls }: Pick<ModelReply, 'text' | 'toolCalls'>,
): ModelUsage {
  return {
    input_tokens: input ?? tokensOfRequest(request),
    output_tokens: output ?? tokensOfMessage({ role: 'assistant', content: text, toolCalls }),
  };
}
