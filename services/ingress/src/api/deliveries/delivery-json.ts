import type { ListedDelivery } from '@angelia/event-log';
import type { DeliveryViewRow } from '@angelia/session';
import type { DeliveryJson } from './deliveries.operations.ts';

/** A delivery in the form of the public interface. */
export function deliveryJson(row: ListedDelivery): DeliveryJson {
  const detail = row.detail as DeliveryViewRow['detail'];
  return {
    id: `${row.sessionId}.${row.output}`,
    session_id: row.sessionId,
    output: row.output,
    kind: detail.kind,
    turn: detail.turn,
    target: row.target,
    via: detail.via,
    status: row.status as DeliveryViewRow['status'],
    attempts: row.attempts,
    next_attempt_at: row.dueAt === null ? null : new Date(row.dueAt).toISOString(),
    reason: detail.reason,
    receipt: detail.receipt,
    possible_duplicate: detail.possible_duplicate,
    created_at: new Date(detail.recorded_at).toISOString(),
    updated_at: new Date(row.updatedAt).toISOString(),
  };
}
