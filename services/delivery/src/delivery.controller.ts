import type { Hint } from '@angelia/contracts';
import type { HintVerdict } from '@angelia/service-kit';
import { Controller, Inject } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import type { DeliveryDispatcher } from './plan/delivery-dispatcher.ts';
import { DISPATCHER } from './tokens.ts';

/** Every hint means the same: look at the session's stream and do what its plan says. */
@Controller()
export class DeliveryController {
  constructor(@Inject(DISPATCHER) private readonly dispatcher: DeliveryDispatcher) {}

  @EventPattern('session.final-response')
  onFinalResponse(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.dispatcher.handle(hint);
  }

  @EventPattern('session.interim-status')
  onInterimStatus(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.dispatcher.handle(hint);
  }

  @EventPattern('clarification.requested')
  onClarification(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.dispatcher.handle(hint);
  }

  @EventPattern('approval.requested')
  onApproval(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.dispatcher.handle(hint);
  }

  /** If its message has buttons, delivery edits it to show the outcome. */
  @EventPattern('clarification.answered')
  onAnswered(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.dispatcher.handle(hint);
  }

  @EventPattern('clarification.timed-out')
  onTimedOut(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.dispatcher.handle(hint);
  }

  @EventPattern('approval.decided')
  onDecided(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.dispatcher.handle(hint);
  }

  @EventPattern('approval.expired')
  onExpired(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.dispatcher.handle(hint);
  }

  @EventPattern('delivery.retry-requested')
  onRetryRequested(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.dispatcher.handle(hint);
  }

  /** From timers (a retry is due, a claim has run out) and from the sweep. */
  @EventPattern('hint.delivery')
  onDue(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.dispatcher.handle(hint);
  }
}
