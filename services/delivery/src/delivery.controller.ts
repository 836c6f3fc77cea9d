import type { Hint } from '@angelia/contracts';
import type { HintVerdict } from '@angelia/service-kit';
import { Controller, Inject } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import type { Deliveries } from './plan/delivery-dispatcher.ts';
import { DELIVERIES } from './tokens.ts';

/** Whatever the hint is about, the answer is the same: look at the session's stream and do what its plan says. */
@Controller()
export class DeliveryController {
  constructor(@Inject(DELIVERIES) private readonly deliveries: Deliveries) {}

  @EventPattern('session.final-response')
  onFinalResponse(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.deliveries.look(hint);
  }

  @EventPattern('session.interim-status')
  onInterimStatus(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.deliveries.look(hint);
  }

  @EventPattern('clarification.requested')
  onClarification(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.deliveries.look(hint);
  }

  @EventPattern('delivery.retry-requested')
  onRetryRequested(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.deliveries.look(hint);
  }

  /** From timers (a retry is due, a claim ran out) and from the sweep. */
  @EventPattern('hint.delivery')
  onDue(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.deliveries.look(hint);
  }
}
