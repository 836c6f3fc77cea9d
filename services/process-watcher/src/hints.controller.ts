import { type Hint, isSessionId } from '@angelia/contracts';
import { type HintVerdict, LOGGER, type Logger, SESSIONS, type Sessions } from '@angelia/service-kit';
import { Controller, Inject } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { commandsToRun } from './commands-to-run.ts';

/**
 * Hints say "look at this stream": the stream says what is to be done. No toolset can be configured in this version
 * (libs/service-kit/src/config/not-yet.ts), so that no stream asks for a command; one that does was written by a
 * newer version, and its hint comes again until a watcher that can run it takes it.
 */
@Controller()
export class HintsController {
  constructor(
    @Inject(SESSIONS) private readonly sessions: Sessions,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @EventPattern('tool.started')
  onToolStarted(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.look(hint);
  }

  /** From timers and sweep. */
  @EventPattern('hint.process')
  onProcessDue(@Payload() hint: Hint): Promise<HintVerdict> {
    return this.look(hint);
  }

  private async look(hint: Hint): Promise<HintVerdict> {
    if (!isSessionId(hint.stream_id)) return 'done';
    const { state } = await this.sessions.load(hint.stream_id);
    const commands = commandsToRun(state);
    if (commands.length === 0) return 'done';
    this.logger.warn(
      { session_id: hint.stream_id, calls: commands },
      'a session asks for commands that this version cannot run: upgrade process-watcher',
    );
    return { retryInMs: LOOK_AGAIN_MS };
  }
}

/** An upgrade takes minutes; the log line above should not fill the disk meanwhile. */
const LOOK_AGAIN_MS = 60_000;
