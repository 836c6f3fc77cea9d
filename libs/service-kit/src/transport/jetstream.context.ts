import type { Hint } from '@angelia/contracts';
import { BaseRpcContext } from '@nestjs/microservices';

/** What `@Ctx()` gives to a handler. */
export class JetStreamContext extends BaseRpcContext<[Hint, string]> {
  get hint(): Hint {
    return this.getArgByIndex(0);
  }

  /** The durable consumer that it came through. */
  get durable(): string {
    return this.getArgByIndex(1);
  }
}
