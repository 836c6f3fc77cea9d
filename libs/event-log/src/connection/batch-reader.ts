import { context, ROOT_CONTEXT } from '@opentelemetry/api';

/**
 * Self-clocking: what is asked while a query is in flight is asked together in the next one. No timer: an idle reader
 * asks at once, a busy one asks in batches, and each answer is from a snapshot taken after the question.
 */
export class BatchReader<Question, Answer> {
  private readonly queue: Waiting<Question, Answer>[] = [];
  private inFlight = false;
  private readonly ask: (questions: Question[]) => Promise<Answer[]>;
  private readonly limit: number;

  constructor(limit: number, ask: (questions: Question[]) => Promise<Answer[]>) {
    this.limit = limit;
    this.ask = ask;
  }

  read(question: Question): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.queue.push({ question, resolve, reject });
      if (!this.inFlight) {
        this.inFlight = true;
        // Behind the other callbacks of this turn, so that their questions come along. It is part of nobody's trace.
        queueMicrotask(() => void context.with(ROOT_CONTEXT, () => this.drain()));
      }
    });
  }

  private async drain(): Promise<void> {
    while (this.queue.length > 0) {
      const batch = this.queue.splice(0, this.limit);
      try {
        const answers = await this.ask(batch.map((waiting) => waiting.question));
        for (const [index, waiting] of batch.entries()) waiting.resolve(answers[index] as Answer);
      } catch (error) {
        for (const waiting of batch) waiting.reject(error);
      }
    }
    this.inFlight = false;
  }
}

interface Waiting<Question, Answer> {
  readonly question: Question;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}
