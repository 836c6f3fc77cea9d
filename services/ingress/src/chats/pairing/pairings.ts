import {
  type ChatEventData,
  type ChatEventType,
  type NewEvent,
  pairingsStream,
  type RecordedEvent,
} from '@angelia/contracts';
import type { EventLog, StreamAppend } from '@angelia/event-log';
import { newEventId } from '@angelia/sessions';

/** Somebody, or a group, that a code has let in, or a code that waits. */
export interface Pairing {
  readonly id: string;
  readonly name: string;
  readonly codeSha256: string;
  readonly offeredAt: number;
  readonly offeredBy: string;
  readonly expiresAt: number;
  /** Null: the code was not used. */
  readonly accepted: { readonly kind: 'user' | 'chat'; readonly id: string; readonly at: number } | null;
}

export interface PairingsOfChat {
  readonly version: number;
  /** By id. Without those that were revoked. */
  readonly pairings: ReadonlyMap<string, Pairing>;
  readonly readAt: number;
}

/** A revoked pairing ends everywhere within this time. The log is read at most this often, however many strangers write. */
const REFRESH_MS = 2_000;
const A_DAY_MS = 86_400_000;

/** Who was let in by pairing, as the log says. One for the process. */
export class Pairings {
  readonly #log: Pick<EventLog, 'streams'>;
  readonly #chats = new Map<string, PairingsOfChat>();
  readonly #reading = new Map<string, Promise<PairingsOfChat>>();

  constructor(log: Pick<EventLog, 'streams'>) {
    this.#log = log;
  }

  /** The name under which a person or their chat was let in; null: they were not. */
  async nameOf(chat: string, ids: { readonly user: string; readonly chat: string }): Promise<string | null> {
    const { pairings } = await this.recent(chat);
    for (const { accepted, name } of pairings.values()) {
      if (accepted !== null && accepted.id === ids[accepted.kind]) return name;
    }
    return null;
  }

  /** As the log was within the last two seconds. */
  async recent(chat: string): Promise<PairingsOfChat> {
    const known = this.#chats.get(chat);
    const isFresh = known !== undefined && performance.now() - known.readAt < REFRESH_MS;
    return isFresh ? known : this.read(chat);
  }

  /** As the log is now. Callers at the same time share a read. */
  read(chat: string): Promise<PairingsOfChat> {
    const reading = this.#reading.get(chat) ?? this.#read(chat).finally(() => this.#reading.delete(chat));
    this.#reading.set(chat, reading);
    return reading;
  }

  async #read(chat: string): Promise<PairingsOfChat> {
    const before = this.#chats.get(chat);
    const readAt = performance.now();
    const events = await this.#log.streams.read(pairingsStream(chat), (before?.version ?? 0) + 1);
    const pairings = new Map(before?.pairings);
    for (const event of events) apply(pairings, event);
    // Codes that nobody used. A margin, because their time is the database's.
    const over = Date.now() - A_DAY_MS;
    for (const [id, { accepted, expiresAt }] of pairings) {
      if (accepted === null && expiresAt < over) pairings.delete(id);
    }
    const after = { version: events.at(-1)?.version ?? before?.version ?? 0, pairings, readAt };
    this.#chats.set(chat, after);
    return after;
  }
}

function apply(pairings: Map<string, Pairing>, { type, data, recordedAt, meta }: RecordedEvent): void {
  switch (type as ChatEventType) {
    case 'pairing.offered': {
      const { pairing_id: id, name, code_digest, expires_at } = data as ChatEventData<'pairing.offered'>;
      const offered = { offeredAt: recordedAt, offeredBy: meta.actor, expiresAt: Date.parse(expires_at) };
      pairings.set(id, { id, name, codeSha256: code_digest, ...offered, accepted: null });
      return;
    }
    case 'pairing.accepted': {
      const { pairing_id, kind, id } = data as ChatEventData<'pairing.accepted'>;
      const offered = pairings.get(pairing_id);
      if (offered !== undefined) {
        pairings.set(pairing_id, { ...offered, accepted: { kind, id, at: recordedAt } });
      }
      return;
    }
    case 'pairing.revoked':
      pairings.delete((data as ChatEventData<'pairing.revoked'>).pairing_id);
      return;
  }
}

/** One more event of a chat's pairings, at the version that was read. */
export function pairingAppend<T extends ChatEventType>(
  chat: string,
  version: number,
  type: T,
  data: ChatEventData<T>,
  actor: string,
): StreamAppend {
  const streamId = pairingsStream(chat);
  const event: NewEvent = { eventId: newEventId(), type, data, meta: { actor, correlation: streamId } };
  return { streamId, expectedVersion: version, events: [event] };
}
