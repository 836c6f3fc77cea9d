import type { Hint } from '@angelia/contracts';
import { BaseRpcContext } from '@nestjs/microservices';

/** The `@Ctx()` of a handler. */
export class JetStreamContext extends BaseRpcContext<[Hint, string]> {
  get hint(): Hint {
    return this.getArgByIndex(0);
  }

  /** The durable consumer that delivered the hint. */
  get durable(): string {
    return this.getArgByIndex(1);
  }
}
