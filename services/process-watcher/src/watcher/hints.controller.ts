import { type Hint, isSessionId } from '@angelia/contracts';
import { Controller, Inject } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { WATCHER, type Watcher } from './watcher.ts';

/** A hint says "look at this stream"; the stream says what to do. It is acked when the work is in flight. */
@Controller()
export class HintsController {
  constructor(@Inject(WATCHER) private readonly watcher: Watcher) {}

  @EventPattern('tool.started')
  toolStarted(@Payload() hint: Hint): Promise<void> {
    return this.#checkSession(hint);
  }

  @EventPattern('process.kill-requested')
  killRequested(@Payload() hint: Hint): Promise<void> {
    return this.#checkSession(hint);
  }

  /** From timers and the sweep. */
  @EventPattern('hint.process')
  due(@Payload() hint: Hint): Promise<void> {
    return this.#checkSession(hint);
  }

  async #checkSession(hint: Hint): Promise<void> {
    if (isSessionId(hint.stream_id)) await this.watcher.checkSession(hint.stream_id);
  }
}
