import type { EventData } from '@angelia/contracts';
import { forgetNotice } from '../processes/evolve-processes.ts';
import type { OpenTurn, StateDraft } from '../state.ts';
import { ms, msOrNull } from '../time.ts';

/** Enough to recognise the repeats of a sender that retries. The append's idempotency key catches older ones. */
export const REMEMBERED_IDS = 32;

export function applySessionCreated(
  draft: StateDraft,
  data: EventData<'session.created'>,
  at: number,
  traceparent: string | null,
): void {
  draft.created = {
    at,
    route: data.route,
    event: data.event,
    deliveryId: data.delivery_id,
    title: data.title,
    agent: data.agent,
    toolsets: data.toolsets ?? null,
    skills: data.skills ?? [],
    deliver: data.deliver,
    fallbackTarget: data.fallback_target ?? null,
    interim: data.interim ?? 'message',
    deliverOnly: data.deliver_only ?? false,
    sessionKey: data.session_key ?? null,
    ...(data.about === undefined ? {} : { about: data.about }),
    continues: data.continues ?? null,
    ...(data.conversation_id ? { conversationId: data.conversation_id } : {}),
    startAfter: msOrNull(data.start_after),
    queueDeadline: msOrNull(data.queue_deadline),
    maxConcurrency: data.max_concurrency ?? null,
    ...(data.api_route ? { apiRoute: true } : {}),
    ...(data.tools ? { tools: data.tools } : {}),
    ...(data.deliver_files ? { deliverFiles: data.deliver_files } : {}),
    ...(data.fence_seed ? { fenceSeed: data.fence_seed } : {}),
    traceparent,
    origin: 'webhook',
  };
  if (data.watcher) draft.watcher = data.watcher;
}

export function applyTurnRequested(draft: StateDraft, data: EventData<'turn.requested'>, at: number): void {
  const first = data.turn === 1 ? draft.created : null;
  if (first !== null) draft.created = { ...first, origin: data.source };
  draft.lastTurn = data.turn;
  if (data.notice) forgetNotice(draft, data.notice);
  if (data.delivery_id) rememberDeliveryId(draft, data.delivery_id);
  draft.turns = [
    ...draft.turns,
    {
      turn: data.turn,
      source: data.source,
      requestedAt: at,
      notice: data.notice ? { processId: data.notice.process_id, kind: data.notice.kind } : null,
      startAfter: msOrNull(data.start_after) ?? first?.startAfter ?? null,
      queueDeadline: msOrNull(data.queue_deadline) ?? first?.queueDeadline ?? null,
      superseded: 0,
      startedAt: null,
      lastSignAt: null,
      attempts: 0,
      interruptedAt: null,
      step: 0,
      calls: [],
      completing: false,
      putOff: null,
    },
  ];
}

export function applyWebhookCoalesced(draft: StateDraft, data: EventData<'webhook.coalesced'>): void {
  changeTurn(draft, data.turn, (turn) => ({
    startAfter: ms(data.start_after),
    queueDeadline: msOrNull(data.queue_deadline) ?? turn.queueDeadline,
    superseded: turn.superseded + 1,
  }));
  rememberDeliveryId(draft, data.delivery_id);
}

export function closeTurn(draft: StateDraft, turn: number | null): void {
  if (turn === null) return;
  draft.turns = draft.turns.filter((open) => open.turn !== turn);
  if (draft.run?.turn === turn) draft.run = null;
  if (draft.clarification?.turn === turn) draft.clarification = null;
  if (draft.approval?.turn === turn) draft.approval = null;
}

export function recordSignOfLife(draft: StateDraft, turn: number, at: number): void {
  changeTurn(draft, turn, () => ({ lastSignAt: at }));
}

/** The turn got further: its attempts are counted from zero again (C7). */
export function recordProgress(draft: StateDraft, turn: number, at: number): void {
  changeTurn(draft, turn, () => ({ lastSignAt: at, attempts: 0 }));
}

export function changeTurn(
  draft: StateDraft,
  number: number,
  change: (turn: OpenTurn) => Partial<OpenTurn>,
): void {
  draft.turns = draft.turns.map((turn) => (turn.turn === number ? { ...turn, ...change(turn) } : turn));
}

function rememberDeliveryId(draft: StateDraft, id: string): void {
  draft.recentDeliveryIds = [...draft.recentDeliveryIds, id].slice(-REMEMBERED_IDS);
}
