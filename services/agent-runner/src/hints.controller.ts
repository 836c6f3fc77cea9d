import { type Hint, sessionId } from '@angelia/contracts';
import { Controller, Inject } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { RUNNER, type Runner } from './runner.ts';

/**
 * Everything that can give a runner work. Resolved means acked: the session was claimed, waits in the room, or there is
 * nothing to do. No message is held for the length of a run.
 */
@Controller()
export class HintsController {
  constructor(@Inject(RUNNER) private readonly runner: Runner) {}

  /** Its first turn is in the same append, and has no hint of its own. */
  @EventPattern('session.created')
  sessionCreated(@Payload() hint: Hint): Promise<void> {
    return this.look(hint);
  }

  @EventPattern('turn.requested')
  turnRequested(@Payload() hint: Hint): Promise<void> {
    return this.look(hint);
  }

  @EventPattern('run.interrupted')
  runInterrupted(@Payload() hint: Hint): Promise<void> {
    return this.look(hint);
  }

  @EventPattern('clarification.answered')
  clarificationAnswered(@Payload() hint: Hint): Promise<void> {
    return this.look(hint);
  }

  /** From timers and sweep. */
  @EventPattern('hint.run')
  due(@Payload() hint: Hint): Promise<void> {
    return this.runner.lookAtDue(sessionId(hint.stream_id));
  }

  private look(hint: Hint): Promise<void> {
    return this.runner.look(sessionId(hint.stream_id));
  }
}
