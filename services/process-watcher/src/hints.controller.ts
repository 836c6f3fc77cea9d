import { type Hint, isSessionId } from '@angelia/contracts';
import { Controller, Inject } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { WATCHER, type Watcher } from './watcher.ts';

/** Hints say "look at this stream": the stream says what is to be done. Resolved means acked: it is in hand. */
@Controller()
export class HintsController {
  constructor(@Inject(WATCHER) private readonly watcher: Watcher) {}

  @EventPattern('tool.started')
  toolStarted(@Payload() hint: Hint): Promise<void> {
    return this.look(hint);
  }

  @EventPattern('process.kill-requested')
  killRequested(@Payload() hint: Hint): Promise<void> {
    return this.look(hint);
  }

  /** From timers and sweep. */
  @EventPattern('hint.process')
  due(@Payload() hint: Hint): Promise<void> {
    return this.look(hint);
  }

  private async look(hint: Hint): Promise<void> {
    if (isSessionId(hint.stream_id)) await this.watcher.look(hint.stream_id);
  }
}
