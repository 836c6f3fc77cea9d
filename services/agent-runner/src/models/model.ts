/** One step of an agent: what the model is given, what it answers. The loop is ours, not the SDK's. */
export interface Model {
  /** Its name in the config: what events and people call it. */
  readonly name: string;
  /** For spans: `builtin`, `openai-compatible` ... and the provider's own name of the model. */
  readonly provider: string;
  readonly modelId: string;
  /**
   * Throws ModelFailure when the model is at fault, and `signal.reason` as it is when it was aborted: whoever
   * aborted knows why.
   */
  call(request: ModelRequest, signal: AbortSignal): Promise<ModelReply>;
}

export interface ModelRequest {
  readonly system: string;
  readonly messages: readonly ModelMessage[];
}

export interface ModelMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

export interface ModelReply {
  readonly text: string;
  readonly finishReason: string;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
}

export type ModelFailureCode =
  /** No answer at all: refused, reset, DNS, TLS. */
  | 'connect'
  /** An answer that stopped before its end. */
  | 'cut_off'
  /** No token for `stall_seconds`. */
  | 'stall'
  /** The whole call took longer than the model's `timeout_seconds`. */
  | 'timeout'
  /** A status that says "not now": 408, 409, 425, 429, 5xx. */
  | 'unavailable'
  /** The provider refuses the request or the key: the same request fails again. */
  | 'refused'
  /** An answer that is not the protocol. */
  | 'protocol';

/** Thrown by a model. `retryable`: the same call may succeed in a moment; otherwise only another model can help. */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  readonly code: ModelFailureCode;
  readonly retryable: boolean;
  /** The provider's own wish (Retry-After). */
  readonly retryAfterMs: number | null;

  constructor(
    code: ModelFailureCode,
    message: string,
    options: { retryable: boolean; retryAfterMs?: number | null },
  ) {
    super(message);
    this.code = code;
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}
