import { type Hint, sessionId } from '@angelia/contracts';
import { Controller, Inject } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { RUNNER, type Runner } from './runner.ts';

/**
 * Every hint that can give a runner work. A resolved handler acks its message: the session is claimed or waits in the
 * queue, or there is nothing to do. No message is held for the length of a run.
 */
@Controller()
export class HintsController {
  constructor(@Inject(RUNNER) private readonly runner: Runner) {}

  /** The first turn is in the same append and has no hint of its own. */
  @EventPattern('session.created')
  sessionCreated(@Payload() hint: Hint): Promise<void> {
    return this.#checkSession(hint);
  }

  @EventPattern('turn.requested')
  turnRequested(@Payload() hint: Hint): Promise<void> {
    return this.#checkSession(hint);
  }

  @EventPattern('run.interrupted')
  runInterrupted(@Payload() hint: Hint): Promise<void> {
    return this.#checkSession(hint);
  }

  @EventPattern('clarification.answered')
  clarificationAnswered(@Payload() hint: Hint): Promise<void> {
    return this.#checkSession(hint);
  }

  @EventPattern('approval.decided')
  approvalDecided(@Payload() hint: Hint): Promise<void> {
    return this.#checkSession(hint);
  }

  /** From the timers and the sweep. */
  @EventPattern('hint.run')
  due(@Payload() hint: Hint): Promise<void> {
    return this.runner.checkDueSession(sessionId(hint.stream_id));
  }

  #checkSession(hint: Hint): Promise<void> {
    return this.runner.checkSession(sessionId(hint.stream_id));
  }
}
