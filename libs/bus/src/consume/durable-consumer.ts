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
 * A hint whose holder died is redelivered after this long. Handlers take milliseconds. One that takes longer reports that
 * it is still at work (consumption.ts), so the value only bounds the delay after a crash, as the sweep does.
 */
export const ACK_WAIT_MS = 30_000;
/**
 * Unacked hints of all replicas together, including those that wait for their retry. While Postgres is away for minutes,
 * the waiting hints must not block the consumer for the others.
 */
const MAX_ACK_PENDING = 10_000;
/** A recreated durable starts this much before the last sign of life: clocks differ, and hints may come twice. */
const CLOCK_MARGIN_MS = 60_000;

function durableConfig(type: string) {
  return {
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    filter_subject: subjectFilter(type),
    max_ack_pending: MAX_ACK_PENDING,
    max_deliver: -1,
    // No `backoff`: it would override ack_wait. Each nak carries its own delay.
  } satisfies Partial<ConsumerConfig>;
}

interface WantedDurable {
  readonly durable: string;
  readonly type: string;
  /** When this process last heard from it. */
  readonly lastAlive: number | null;
  readonly beforeCreate: () => Promise<unknown>;
}

/**
 * Creates the durable consumer, or brings it up to date. A consumer that was deleted while the stream lived starts where it
 * was and not at the start of the stream: that would fold an hour of hints for nothing.
 */
export async function ensureDurable(
  jsm: JetStreamManager,
  { durable, type, lastAlive, beforeCreate }: WantedDurable,
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

/** Nobody confirms the deletion of a consumer without a leader. The next check shows it. */
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
