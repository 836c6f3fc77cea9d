import type { ToolCall } from '@angelia/contracts';
import { CallFailure } from '../retry-call.ts';

/** One step of an agent: a request and its answer. The loop is ours, not the SDK's. */
export interface Model {
  /** Its name in the config, which events and people use. */
  readonly name: string;
  /** For spans: `builtin`, `openai-compatible` ... and the provider's name of the model. */
  readonly provider: string;
  readonly modelId: string;
  /** Its window: the request and the answer must fit in it. */
  readonly contextTokens: number;
  /** Host and port of the provider, for spans. Null: no network. */
  readonly server: { readonly address: string; readonly port: number } | null;
  /** Its answers are streamed. For spans. */
  readonly streaming?: boolean;
  /** @throws ModelFailure when the model is at fault, and `signal.reason` when the call was aborted */
  call(request: ModelRequest, signal: AbortSignal): Promise<ModelReply>;
}

export interface ModelRequest {
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  /** Empty: the model can only answer. */
  readonly tools: readonly ToolSpec[];
}

/** The description of a tool for the model. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of type `object`. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Every `tool` message answers a call of the last assistant message before it. Providers refuse anything else. */
export type ModelMessage =
  | { readonly role: 'user'; readonly content: string; readonly images?: readonly ModelImage[] }
  | {
      readonly role: 'assistant';
      readonly content: string;
      readonly toolCalls: readonly ToolCall[];
      readonly reasoning?: KeptReasoning | undefined;
    }
  | {
      readonly role: 'tool';
      readonly callId: string;
      readonly tool: string;
      readonly content: string;
      readonly images?: readonly ModelImage[];
    };

export interface ModelImage {
  readonly mimeType: string;
  /** In base64. */
  readonly data: string;
}

/** What a provider wants back with the next step: thoughts and their signatures. Nobody else reads it. */
export interface KeptReasoning {
  /** The provider and its name of the model. No other model gets it. */
  readonly of: string;
  /** JSON of the client that made it. */
  readonly data: string;
}

export interface ModelReply {
  readonly text: string;
  /** As the model wrote them: `arguments` need not be JSON, the ids need not be unique in the session. */
  readonly toolCalls: readonly ToolCall[];
  /** Only beside calls: the next step goes on from it. */
  readonly reasoning?: KeptReasoning | undefined;
  /** `stop`, `length`, `content-filter`, `tool-calls`, `other`. */
  readonly finishReason: string;
  readonly usage: ModelUsage;
  /** The provider did not count the tokens: `usage` is our estimate. */
  readonly usageIsEstimate?: boolean;
  /** The provider's id of the answer and name of the model, for spans. */
  readonly response?: { readonly id?: string | undefined; readonly model?: string | undefined };
}

export interface ModelUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
}

export type ModelFailureCode =
  /** No answer: refused, reset, DNS, TLS. */
  | 'connect'
  /** An answer that stopped before its end. */
  | 'cut_off'
  /** No token for `stall_seconds`. */
  | 'stall'
  /** The whole call took longer than the model's `timeout_seconds`. */
  | 'timeout'
  /** A status that says "not now": 408, 409, 425, 429, 5xx. */
  | 'unavailable'
  /** The provider refuses the key, or what it may be used for: 401, 402, 403, no quota. */
  | 'unauthorized'
  /** The provider does not have the model, or nothing is at the address: 404. */
  | 'unknown_model'
  /** The provider refuses the request, or withholds the answer: the same request would fail again. */
  | 'refused'
  /** Refused because it does not fit in the model's window: a shorter one may fit. */
  | 'too_long'
  /** An answer that is not the protocol. */
  | 'protocol';

const reasons: Readonly<Record<ModelFailureCode, ModelFailure['reason']>> = {
  connect: 'unavailable',
  cut_off: 'unavailable',
  stall: 'unavailable',
  timeout: 'unavailable',
  unavailable: 'unavailable',
  protocol: 'unavailable',
  unauthorized: 'configuration',
  unknown_model: 'configuration',
  refused: null,
  too_long: null,
};

/** Thrown by a model. `retryable`: the same call may succeed in a moment. Otherwise only another model or time can help. */
export class ModelFailure extends CallFailure {
  override readonly name = 'ModelFailure';
  readonly code: ModelFailureCode;
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
  /** The HTTP status of the provider's answer, if it gave one. */
  readonly status: number | null;

  constructor(
    code: ModelFailureCode,
    message: string,
    options: { retryable: boolean; retryAfterMs?: number | null; status?: number | null },
  ) {
    super(message);
    this.code = code;
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.status = options.status ?? null;
  }

  get reason(): CallFailure['reason'] {
    return reasons[this.code];
  }
}
