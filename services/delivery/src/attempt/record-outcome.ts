import { setTimeout as pause } from 'node:timers/promises';
import { LogClosed } from '@angelia/event-log';
import type { SendPlan, SessionCommand } from '@angelia/session';
import { EventTooNew, type Loaded } from '@angelia/sessions';
import type { DeliveryTools } from '../plan/deliver-session.ts';
import type { SendResult } from '../targets/target.ts';
import { decideDelivery } from './append-command.ts';
import { afterFailure } from './retry-schedule.ts';
import type { Sent } from './send-output.ts';

/** `delivery.succeeded`, `.failed` with its retry, or `.dead`: what the target said, or that it did not say. */
export async function recordOutcome(sent: Sent, plan: SendPlan, tools: DeliveryTools): Promise<Loaded> {
  const { loaded, result } = sent;
  const command = outcomeCommand(result, plan, tools);
  const record = (options?: Parameters<typeof decideDelivery>[3]) =>
    untilRecorded(() => decideDelivery(tools.sessions, loaded, command, options), loaded.id, tools);
  const decided = await record().catch(async (error: unknown) => {
    // In the middle of an upgrade. That the target has it is true whatever the newer events say, and nobody else knows
    // it: unsaid, an upgraded replica would send it again. What is next is decided by those who can read all of it.
    if (error instanceof EventTooNew && command.type === 'succeed-delivery') {
      await record({ pastUnreadable: true });
      tools.unrecorded.delete(loaded.id);
    }
    throw error;
  });
  // Settled: by an earlier try to record this, whose answer was lost.
  if (decided.refused !== null && decided.refused !== 'delivery_settled') {
    // Past our deadline another sender has claimed it.
    tools.logger.warn(
      {
        session_id: loaded.id,
        output: plan.output,
        attempt: plan.attempt,
        outcome: result.kind,
        refused: decided.refused,
      },
      'the outcome of an attempt came too late to be recorded',
    );
  } else if (command.type === 'give-up-delivery') {
    tools.logger.warn(
      { session_id: loaded.id, output: plan.output, target: plan.target.target, reason: command.reason },
      'delivery is dead',
    );
  }
  return decided.loaded;
}

function outcomeCommand(result: SendResult, plan: SendPlan, tools: DeliveryTools): SessionCommand {
  const { output, attempt, via } = plan;
  switch (result.kind) {
    case 'taken':
      return { type: 'succeed-delivery', output, attempt, receipt: result.receipt };
    case 'permanent':
      return { type: 'give-up-delivery', output, attempt, via, reason: result.reason };
    case 'unknown':
    case 'retryable': {
      const next = afterFailure(plan, result, tools.policy, tools.sessions.clock.now(), tools.random);
      if (next.kind === 'give-up')
        return { type: 'give-up-delivery', output, attempt, via, reason: next.reason };
      return {
        type: 'fail-delivery',
        output,
        attempt,
        reason: result.reason,
        retryAt: next.at,
        counts: next.counts,
        unknown: result.kind === 'unknown',
      };
    }
  }
}

/** Between tries to record while Postgres is away: it costs a statement each, and the place is held meanwhile. */
const FIRST_PAUSE_MS = 100;
const LAST_PAUSE_MS = 2_000;

/**
 * What was sent and is not recorded will be sent again: so it is tried for as long as the process lives, whatever
 * passing reason keeps it from being recorded (Postgres is away, others append all the time). Nobody else can claim the
 * output while Postgres is away, and past the claim's deadline the domain decides who is right.
 */
export async function untilRecorded<T>(
  record: () => Promise<T>,
  sessionId: string,
  tools: DeliveryTools,
): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 2)) {
    try {
      return await record();
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (pauseMs === FIRST_PAUSE_MS) {
        tools.logger.warn(
          { err: error, session_id: sessionId },
          'the outcome of an attempt cannot be recorded yet',
        );
      }
      await pause(pauseMs);
    }
  }
}

/** Who closed the log goes down; what a newer version wrote this process can never read. */
function isPassing(error: unknown): boolean {
  if (error instanceof LogClosed || error instanceof EventTooNew) return false;
  return error instanceof Error && 'retryable' in error && error.retryable === true;
}
