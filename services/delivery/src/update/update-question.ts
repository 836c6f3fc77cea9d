import type { EventData } from '@angelia/contracts';
import { type SessionCommand, updatePlan } from '@angelia/session';
import { type Loaded, markFailed, SESSION_ID, withSpan } from '@angelia/sessions';
import type { Verdict } from '@angelia/waiting';
import { SpanKind } from '@opentelemetry/api';
import { appendCommand } from '../append-command.ts';
import { afterFailure } from '../attempt/retry-schedule.ts';
import { retryUntilRecorded } from '../attempt/retry-until-recorded.ts';
import { secretKey } from '../attempt/send-output.ts';
import { claimTimes, openSendWindow, readClocks } from '../attempt/send-window.ts';
import type { DeliveryContext } from '../delivery-context.ts';
import type { SendIntent } from '../gate/send-gate.ts';
import type { SessionGate } from '../gate/session-gate.ts';
import { resolveAddress } from '../plan/resolve-address.ts';
import type { EditResult, TargetAddress } from '../targets/target.ts';
import type { ConfiguredTarget } from '../targets/target-registry.ts';
import { type Closing, closingOf } from './closing-text.ts';
import { composeUpdate } from './compose-update.ts';

type Updated =
  | { readonly kind: 'continue'; readonly loaded: Loaded }
  /** Nothing is due, or it has to wait: the agenda hints it again. */
  | { readonly kind: 'done' }
  | { readonly kind: 'waiting' };

/** One edit that is due: the message of a question that is closed. */
interface Update {
  readonly loaded: Loaded;
  readonly output: number;
  readonly failures: number;
  readonly closing: Closing;
}

/** A delivered message. */
interface Delivered {
  readonly receipt: string;
  readonly configured: ConfiguredTarget;
  readonly address: TargetAddress;
}

/**
 * Edits the message of a question that was answered or closed, so that it says who chose what and its buttons disappear. It is
 * called only while no output can be sent, so it holds back none.
 *
 * The result is recorded, failures with their retry. There is no claim: after a crash between edit and record the edit is
 * made again, which changes nothing at the platform.
 */
export async function updateQuestion(
  loaded: Loaded,
  now: number,
  gate: SessionGate,
  context: DeliveryContext,
): Promise<Updated> {
  const plan = updatePlan(loaded.state, now);
  if (plan.action !== 'update') return { kind: 'done' };
  const { output, failures } = plan;
  const update: Update = { loaded, output, failures, closing: closingOf(loaded, output) };
  const delivered = deliveredMessage(update, context);
  if (delivered === null) return finish(update, { kind: 'gone', reason: 'it has no receipt' }, now, context);
  const { configured, address } = delivered;
  const intent: SendIntent = {
    destination: configured.target.destination(address, configured.settings),
    limits: configured.target.limits,
    writtenAt: now,
  };
  // An edit must not wait at the gate for a target that is down, because the session's next output may go to another target.
  if (gate.isDown(intent)) return { kind: 'done' };
  const entry = gate.enter(intent);
  if (entry === null) return { kind: 'waiting' };
  let verdict: Verdict = 'undecided';
  try {
    const result = await edit(update, delivered, intent, gate, context);
    verdict = verdictOf(result);
    return await finish(update, result, now, context);
  } finally {
    gate.leave(entry, verdict);
  }
}

function deliveredMessage({ loaded, output }: Update, context: DeliveryContext): Delivered | null {
  const succeeded = loaded.events.findLast(
    ({ type, data }) =>
      type === 'delivery.succeeded' && (data as EventData<'delivery.succeeded'>).output === output,
  );
  const { created } = loaded.state;
  if (succeeded === undefined || created === null) return null;
  const { attempt, receipt } = succeeded.data as EventData<'delivery.succeeded'>;
  const attempted = loaded.events.find(({ type, data }) => {
    if (type !== 'delivery.attempted') return false;
    const one = data as EventData<'delivery.attempted'>;
    return one.output === output && one.attempt === attempt;
  });
  const { via } = (attempted?.data ?? {}) as Partial<EventData<'delivery.attempted'>>;
  const target = via === 'fallback_target' ? (created.fallbackTarget ?? created.deliver) : created.deliver;
  if (receipt === null) return null;
  const found = context.targets.find(target.target);
  return { receipt, ...resolveAddress(target, found, context.addressVariables) };
}

function edit(
  update: Update,
  delivered: Delivered,
  intent: SendIntent,
  gate: SessionGate,
  context: DeliveryContext,
): Promise<EditResult> {
  const { loaded, output } = update;
  const { target } = delivered.configured;
  return withSpan(
    () => ({
      name: `update ${target.name}`,
      kind: SpanKind.CLIENT,
      parent: loaded.state.created?.traceparent ?? undefined,
      attributes: { [SESSION_ID]: loaded.id, 'angelia.output': output, 'angelia.target': target.name },
    }),
    async (span) => {
      const result = await tryEdit(update, delivered, intent, gate, context);
      span.setAttribute('angelia.outcome', result.kind);
      if (result.kind !== 'taken') markFailed(span, result.kind);
      return result;
    },
  );
}

async function tryEdit(
  { loaded, output, closing }: Update,
  { receipt, configured, address }: Delivered,
  intent: SendIntent,
  gate: SessionGate,
  context: DeliveryContext,
): Promise<EditResult> {
  const { target, settings } = configured;
  if (target.edit === undefined) return { kind: 'gone', reason: `target ${target.name} cannot edit it now` };
  const times = claimTimes(context.policy.request_timeout_seconds);
  const turn = await gate.takeTurn(intent, 0, true);
  if (turn === null) {
    return { kind: 'retryable', reason: "not made yet: the platform's rate limit", retryAfterSeconds: 0 };
  }
  const window = openSendWindow(readClocks(context.clock), times, context.clock);
  try {
    const composed = composeUpdate(loaded, output, closing, configured, context);
    gate.sending(intent);
    const recordedAt = loaded.events[output - 1]?.recordedAt ?? closing.at;
    const result = await target.edit(
      {
        ...composed,
        markDuplicate: false,
        address,
        settings,
        idempotencyKey: `${loaded.id}.${output}.closed`,
        secretKey: secretKey(loaded, output, 0),
        earlier: [],
        recordedAt,
        ageMs: context.sessions.clock.now() - recordedAt,
        window,
      },
      receipt,
    );
    if (result.kind === 'retryable' && result.retryAfterSeconds !== undefined) {
      await gate.pause(intent, result.scope ?? 'chat', result.retryAfterSeconds);
    }
    return result;
  } catch (error) {
    context.logger.error(
      { err: error, session_id: loaded.id, target: target.name },
      'target failed to edit a question',
    );
    return { kind: 'gone', reason: `target ${target.name} cannot edit this` };
  } finally {
    window.close();
  }
}

/** As for a send. "The message is gone" is an answer, so the target is up. */
function verdictOf(result: EditResult): Verdict {
  switch (result.kind) {
    case 'taken':
    case 'gone':
    case 'permanent':
      return 'worked';
    case 'unknown':
      return 'failed';
    case 'retryable':
      return result.retryAfterSeconds === undefined ? 'failed' : 'undecided';
  }
}

async function finish(
  update: Update,
  result: EditResult,
  now: number,
  context: DeliveryContext,
): Promise<Updated> {
  const { loaded } = update;
  const command = outcomeCommand(update, result, now, context);
  const recorded = await retryUntilRecorded(
    () => appendCommand(context.sessions, loaded, command),
    loaded.id,
    context.logger,
  );
  return { kind: 'continue', loaded: recorded.loaded };
}

function outcomeCommand(
  { output, failures, closing }: Update,
  result: EditResult,
  now: number,
  { policy, random }: DeliveryContext,
): SessionCommand {
  switch (result.kind) {
    case 'taken':
      return { type: 'finish-update', output, result: 'edited', reason: null };
    case 'gone':
    case 'permanent':
      return { type: 'finish-update', output, result: 'gone', reason: result.reason };
    case 'unknown':
    case 'retryable': {
      const next = afterFailure({ failures, recordedAt: closing.at }, result, { policy, now, random });
      return next.kind === 'give-up'
        ? { type: 'finish-update', output, result: 'given-up', reason: next.reason }
        : {
            type: 'fail-update',
            output,
            failures,
            reason: result.reason,
            retryAt: next.at,
            counts: next.counts,
          };
    }
  }
}
