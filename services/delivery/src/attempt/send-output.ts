import { setTimeout as pause } from 'node:timers/promises';
import type { Loaded } from '@angelia/sessions';
import type { DeliveryTools } from '../plan/deliver-session.ts';
import type { OutboundMessage, Piece, SendResult } from '../targets/target.ts';
import type { Attempt } from './attempt-output.ts';
import type { Claim } from './claim-output.ts';
import type { Composed } from './compose-output.ts';
import { recordChunk } from './record-chunk.ts';
import { sendPiece } from './send-chunk.ts';
import { openSendWindow } from './send-window.ts';
import { statusMessage } from './status-message.ts';

export interface Sent {
  readonly loaded: Loaded;
  /** Of the piece that was sent last. */
  readonly result: SendResult;
  /** Others took over between two pieces: there is nothing to record any more. */
  readonly overtaken: boolean;
}

type Held = Extract<Claim, { mine: true }>;

/**
 * Sends what the claim is for, within the time that the claim leaves. A long output is several messages; each that was
 * taken is recorded, which renews the claim, and a retry goes on after the last.
 */
export async function sendOutput(
  claim: Held,
  { message, pieces }: Composed,
  attempt: Attempt,
  tools: DeliveryTools,
): Promise<Sent> {
  const { plan, ready } = attempt;
  let held = claim;
  for (let index = plan.taken; ; index += 1) {
    const first = index === plan.taken;
    const done = (result: SendResult, overtaken = false): Sent => ({
      loaded: held.loaded,
      result,
      overtaken,
    });
    if (pieces === null)
      return done({ kind: 'permanent', reason: `target ${ready.target.name} cannot send this` });
    const piece = pieces[index];
    // The last was taken, and the attempt that sent it could not say so.
    if (piece === undefined) return done({ kind: 'taken', receipt: null });
    // The wait is part of the claim's time: another half of it is left to begin the request in.
    const turn = await attempt.turnstile.takeTurn(attempt.ask, held.times.beginWithinMs / 2, first);
    // Whoever is inside already sends; nobody waits once the service is going down.
    if (turn === null || (attempt.turnstile.closed() && (!first || turn.waitMs > 0))) {
      const reason = turn === null ? "the platform's rate limit" : 'the service is going down';
      return done({ kind: 'retryable', reason: `not sent yet: ${reason}`, retryAfterSeconds: 0 });
    }
    if (turn.waitMs > 0) await pause(Math.ceil(turn.waitMs));
    attempt.turnstile.sending(attempt.ask);
    const result = await sendOne({ message, piece, index, count: pieces.length }, held, attempt, tools);
    heed(result, attempt);
    if (result.kind !== 'taken' || index + 1 >= pieces.length) return done(result);

    const next = await recordChunk(held, plan, { chunk: index + 1, chunks: pieces.length, ...result }, tools);
    if (next === null) return done(result, true);
    held = next;
  }
}

interface PieceOf {
  readonly message: OutboundMessage;
  readonly piece: Piece;
  readonly index: number;
  readonly count: number;
}

async function sendOne(
  { message, piece, index, count }: PieceOf,
  held: Held,
  { plan, ready, address }: Attempt,
  tools: DeliveryTools,
): Promise<SendResult> {
  const { target, settings } = ready;
  const first = index === plan.taken;
  const window = openSendWindow(held.asked, held.times, tools.clock);
  const name = `${held.loaded.id}.${plan.output}`;
  try {
    return await sendPiece({
      target,
      plan,
      first,
      statusMessage: count === 1 ? statusMessage(held.loaded, plan) : null,
      request: {
        message: first ? message : { ...message, possibleDuplicate: false },
        piece,
        index,
        count,
        markDuplicate: false,
        address,
        settings,
        idempotencyKey: index === 0 ? name : `${name}.${index}`,
        recordedAt: plan.recordedAt,
        ageMs: tools.sessions.clock.now() - plan.recordedAt,
        window,
      },
    });
  } catch (error) {
    // A fault in the target's own code. Whether it had sent is not known; that it happened must be.
    tools.logger.error(
      { err: error, session_id: held.loaded.id, target: target.name },
      'a target failed unexpectedly',
    );
    return {
      kind: 'unknown',
      reason: `target ${target.name} failed unexpectedly; see the log of ${tools.holder}`,
    };
  } finally {
    window.close();
  }
}

/** A wait that the platform asked for holds others that go to the same place too: they need not ask themselves. */
function heed(result: SendResult, { ask, turnstile }: Attempt): void {
  if (result.kind === 'taken' && result.pauseSeconds !== undefined) {
    turnstile.pause(ask, 'chat', result.pauseSeconds);
  }
  if (result.kind === 'retryable' && result.retryAfterSeconds !== undefined) {
    turnstile.pause(ask, result.scope ?? 'chat', result.retryAfterSeconds);
  }
}
