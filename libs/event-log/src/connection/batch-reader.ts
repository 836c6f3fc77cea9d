import { context, ROOT_CONTEXT } from '@opentelemetry/api';

/**
 * Questions that arrive while a query is in flight go together into the next one. There is no timer: an idle reader asks
 * at once, a busy one asks in batches. Each answer is from a snapshot that was taken after the question.
 */
export class BatchReader<Question, Answer> {
  readonly #queue: Waiting<Question, Answer>[] = [];
  readonly #ask: (questions: Question[]) => Promise<Answer[]>;
  readonly #limit: number;
  #inFlight = false;

  constructor(limit: number, ask: (questions: Question[]) => Promise<Answer[]>) {
    this.#limit = limit;
    this.#ask = ask;
  }

  read(question: Question): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ question, resolve, reject });
      if (!this.#inFlight) {
        this.#inFlight = true;
        // After the other callbacks of this turn, so that their questions come along. It belongs to nobody's trace.
        queueMicrotask(() => void context.with(ROOT_CONTEXT, () => this.#drain()));
      }
    });
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, this.#limit);
      try {
        const answers = await this.#ask(batch.map((waiting) => waiting.question));
        for (const [index, waiting] of batch.entries()) waiting.resolve(answers[index] as Answer);
      } catch (error) {
        for (const waiting of batch) waiting.reject(error);
      }
    }
    this.#inFlight = false;
  }
}

interface Waiting<Question, Answer> {
  readonly question: Question;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}
