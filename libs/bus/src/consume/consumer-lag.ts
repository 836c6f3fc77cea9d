import { STREAM_NAME } from '@angelia/contracts';
import type { JetStreamManager } from '@nats-io/jetstream';
import type { ConsumerLag } from '../types.ts';

/** One request per page of 256 consumers. All services together have some twenty. */
export async function consumerLag(jsm: JetStreamManager): Promise<ConsumerLag[]> {
  const lags: ConsumerLag[] = [];
  for await (const { name, num_pending, num_ack_pending } of jsm.consumers.list(STREAM_NAME)) {
    lags.push({ durable: name, pending: num_pending, ackPending: num_ack_pending });
  }
  return lags;
}
