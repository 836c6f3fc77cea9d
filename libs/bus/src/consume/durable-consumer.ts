import { STREAM_NAME, subjectFilter } from '@angelia/contracts';
import {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerInfo,
  DeliverPolicy,
  type JetStreamManager,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { isConsumerNotFound, isStreamNotFound, isTimeout } from '../jetstream-errors.ts';

/**
 * A hint whose holder died comes again after this long. Handlers take milliseconds; one that takes longer says that
 * it is still at work (consumption.ts), so the value only bounds the delay after a crash, which the sweep does too.
 */
export const ACK_WAIT_MS = 30_000;
/**
 * Unacked hints of all replicas together, those that wait for their retry included: when Postgres is away for minutes
 * the waiting ones must not close the consumer to the rest for long.
 */
const MAX_ACK_PENDING = 10_000;
/** A recreated durable goes back this much further than the last sign of life: clocks differ, hints may come twice. */
const CLOCK_MARGIN_MS = 60_000;

function durableConfig(type: string) {
  return {
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    filter_subject: subjectFilter(type),
    max_ack_pending: MAX_ACK_PENDING,
    max_deliver: -1,
    // No `backoff`: it would overwrite ack_wait. Delays are given with each nak.
  } satisfies Partial<ConsumerConfig>;
}

/**
 * The durable consumer, made or brought up to date. `lastAlive`: when this process last heard of it. A consumer that
 * was deleted under a living stream then starts where it was, not at the stream's beginning: an hour of hints would
 * be folded for nothing.
 */
export async function ensureDurable(
  jsm: JetStreamManager,
  durable: string,
  type: string,
  lastAlive: number | null,
  beforeCreate: () => Promise<unknown>,
): Promise<ConsumerInfo> {
  const wanted = durableConfig(type);
  let info: ConsumerInfo | null = null;
  try {
    info = await jsm.consumers.info(STREAM_NAME, durable);
  } catch (error) {
    if (!isConsumerNotFound(error)) throw error;
  }
  if (info === null) {
    await beforeCreate();
    return jsm.consumers.add(STREAM_NAME, { durable_name: durable, ...startAt(lastAlive), ...wanted });
  }
  if (differs(info.config, wanted)) return jsm.consumers.update(STREAM_NAME, durable, wanted);
  return info;
}

/** Of one without a leader nobody confirms that it is gone: the next look tells. */
export async function deleteDurable(jsm: JetStreamManager, durable: string): Promise<void> {
  try {
    await jsm.consumers.delete(STREAM_NAME, durable);
  } catch (error) {
    if (!isTimeout(error) && !isConsumerNotFound(error) && !isStreamNotFound(error)) throw error;
  }
}

function startAt(lastAlive: number | null): Pick<ConsumerConfig, 'deliver_policy' | 'opt_start_time'> {
  if (lastAlive === null) return { deliver_policy: DeliverPolicy.All };
  return {
    deliver_policy: DeliverPolicy.StartTime,
    opt_start_time: new Date(lastAlive - CLOCK_MARGIN_MS).toISOString(),
  };
}

function differs(has: ConsumerConfig, wanted: ReturnType<typeof durableConfig>): boolean {
  const keys = Object.keys(wanted) as (keyof typeof wanted)[];
  return keys.some((key) => has[key] !== wanted[key]);
}
