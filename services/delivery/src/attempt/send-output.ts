import { hash } from 'node:crypto';
import type { SendPlan } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import { pause } from '@angelia/waiting';
import type { DeliveryContext } from '../delivery-context.ts';
import type { SendIntent } from '../gate/send-gate.ts';
import type { SessionGate } from '../gate/session-gate.ts';
import type { OutboundMessage, SendResult, TargetAddress } from '../targets/target.ts';
import type { ConfiguredTarget } from '../targets/target-registry.ts';
import type { Chunk } from '../text/cut/chunk.ts';
import type { Claim } from './claim-output.ts';
import { sendNamedFile } from './files/send-named-file.ts';
import { recordChunk } from './record-chunk.ts';
import { type ChunkInput, sendChunk } from './send-chunk.ts';
import { openSendWindow } from './send-window.ts';
import { statusMessage } from './status-message.ts';

interface SendInput {
  readonly claim: Claim;
  readonly composed: { readonly message: OutboundMessage; readonly chunks: readonly Chunk[] };
  readonly plan: SendPlan;
  /** See SendRequest. */
  readonly earlier: readonly string[];
  readonly configured: ConfiguredTarget;
  readonly address: TargetAddress;
  readonly intent: SendIntent;
  readonly gate: SessionGate;
}

/** `result` is that of the chunk that was sent last. */
export type Sent =
  | { readonly kind: 'finished'; readonly loaded: Loaded; readonly result: SendResult }
  /** Another sender took over between two chunks: there is nothing left for us to record. */
  | { readonly kind: 'overtaken'; readonly loaded: Loaded; readonly result: SendResult };

/**
 * Sends what was claimed, within the time that the claim leaves. A long output is several messages. Each message that the
 * target takes is recorded, which renews the claim; a retry continues after the last one.
 */
export async function sendOutput(input: SendInput, context: DeliveryContext): Promise<Sent> {
  const { composed, plan, intent, gate } = input;
  const { chunks } = composed;
  let claim = input.claim;
  for (let index = plan.taken; ; index += 1) {
    const first = index === plan.taken;
    const finished = (result: SendResult): Sent => ({ kind: 'finished', loaded: claim.loaded, result });
    const chunk = chunks[index];
    // All chunks were taken, but the attempt that sent the last one could not record it.
    if (chunk === undefined) return finished({ kind: 'taken', receipt: null });
    // Waiting for a turn spends the claim's time: half of it stays for beginning the request.
    const turn = await gate.takeTurn(intent, claim.times.beginWithinMs / 2, first);
    if (turn === null) return finished(notSentYet("the platform's rate limit"));
    // The first chunk still goes out during a shutdown, if it need not wait. Nothing else does.
    if (gate.draining() && (!first || turn.waitMs > 0))
      return finished(notSentYet('the service is stopping'));
    if (turn.waitMs > 0) await pause(Math.ceil(turn.waitMs));
    gate.sending(intent);
    const result = await sendOne({ ...input, claim }, chunk, index, context);
    await shareWaits(result, intent, gate);
    if (result.kind !== 'taken' || index + 1 >= chunks.length) return finished(result);

    const taken = { number: index + 1, count: chunks.length, receipt: result.receipt };
    const place = { target: input.configured.target, address: input.address };
    const recorded = await recordChunk({ claim, plan, place, taken }, context);
    if (recorded.kind === 'overtaken') return { kind: 'overtaken', loaded: claim.loaded, result };
    claim = recorded.claim;
  }
}

function notSentYet(reason: string): SendResult {
  return { kind: 'retryable', reason: `not sent yet: ${reason}`, retryAfterSeconds: 0 };
}

async function sendOne(
  { claim, composed, plan, earlier, configured, address }: SendInput,
  chunk: Chunk,
  index: number,
  context: DeliveryContext,
): Promise<SendResult> {
  const { message, chunks } = composed;
  const { target, settings } = configured;
  const first = index === plan.taken;
  const textCount = chunks.filter(({ file }) => file === undefined).length;
  const window = openSendWindow(claim.requestedAt, claim.times, context.clock);
  const key = `${claim.loaded.id}.${plan.output}`;
  try {
    const input: ChunkInput = {
      target,
      // Only the first chunk of an attempt may be there already.
      mayBeThere: first && plan.unknowns > 0,
      editReceipt: index === 0 && textCount === 1 ? statusMessage(claim.loaded, plan) : null,
      request: {
        message: first ? message : { ...message, possibleDuplicate: false },
        chunk,
        index,
        count: chunks.length,
        markDuplicate: false,
        address,
        settings,
        idempotencyKey: index === 0 ? key : `${key}.${index}`,
        secretKey: secretKey(claim.loaded, plan.output, index),
        earlier,
        recordedAt: plan.recordedAt,
        ageMs: context.sessions.clock.now() - plan.recordedAt,
        window,
      },
    };
    return await (chunk.file === undefined
      ? sendChunk(input)
      : sendNamedFile(input, chunk.file, { loaded: claim.loaded, plan }, context));
  } catch (error) {
    // A bug in the target's own code. We do not know whether it sent the message, and must record that.
    context.logger.error(
      { err: error, session_id: claim.loaded.id, target: target.name },
      'target failed unexpectedly',
    );
    return {
      kind: 'unknown',
      reason: `target ${target.name} failed unexpectedly; see the log of ${context.holder}`,
    };
  } finally {
    window.close();
  }
}

/** The id of an event is random, and is in no message and no address. */
export function secretKey({ events, id }: Loaded, output: number, index: number): string {
  const event = events[output - 1];
  if (event === undefined) throw new Error(`${id} has no event ${output}`);
  return hash('sha256', `${event.eventId}.${index}`).slice(0, 32);
}

/**
 * A wait that the platform asks for also applies to other sessions that send to the same place, so they need not ask again. It
 * is shared before the attempt is recorded, so that whoever reads the failure in the log does not meet the same wait.
 */
async function shareWaits(result: SendResult, intent: SendIntent, gate: SessionGate): Promise<void> {
  if (result.kind === 'taken' && result.pauseSeconds !== undefined) {
    await gate.pause(intent, 'chat', result.pauseSeconds);
  }
  if (result.kind === 'retryable' && result.retryAfterSeconds !== undefined) {
    await gate.pause(intent, result.scope ?? 'chat', result.retryAfterSeconds);
  }
}
