import type { UnstartedWebhook } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';

/** Somebody who watches sees the first at once. A flood adds a line per kind and minute. */
const EVERY_MS = 60_000;
/** Somebody who tries to get a sender right sees each new reason. A flood with ever new reasons adds this many lines. */
const MOST_DETAILS = 5;
/** About as many kinds as there are routes, times the few reasons that occur within a minute. */
const MOST_KINDS = 2_000;

/** They are normal: a sender repeats, or a provider asks whether its receiver is there. */
const NOT_LOGGED: ReadonlySet<string> = new Set(['duplicate', 'handshake']);

/**
 * The log lines about webhooks that started no session, for each route, outcome and reason: the first at once, then at
 * most one per minute, with the number of those since the line before. A few with another detail come at once too. The
 * terminal of the local stack shows them.
 */
export class UnstartedWebhookLog {
  readonly #logger: Pick<Logger, 'info' | 'warn'>;
  readonly #kinds = new Map<string, { loggedAt: number; since: number; details: (string | null)[] }>();

  constructor(logger: Pick<Logger, 'info' | 'warn'>) {
    this.#logger = logger;
  }

  add(webhook: UnstartedWebhook): void {
    const { route, outcome, reason, detail, receivedAt: now } = webhook;
    if (NOT_LOGGED.has(outcome)) return;
    const key = `${route} ${outcome} ${reason}`;
    const kind = this.#kinds.get(key);
    const recent = kind !== undefined && now - kind.loggedAt < EVERY_MS ? kind : null;
    if (recent !== null && (recent.details.includes(detail) || recent.details.length >= MOST_DETAILS)) {
      recent.since += 1;
      return;
    }
    if (kind === undefined && !this.#hasRoom(now)) return;
    this.#kinds.set(key, {
      loggedAt: recent?.loggedAt ?? now,
      since: 0,
      details: [...(recent?.details ?? []), detail],
    });
    const since = (kind?.since ?? 0) + 1;
    const line = {
      route,
      outcome,
      reason,
      status: webhook.status,
      ...(detail === null ? {} : { detail }),
      ...(webhook.source === null ? {} : { source: webhook.source }),
      ...(webhook.event === null ? {} : { event: webhook.event }),
      ...(webhook.deliveryId === null ? {} : { delivery_id: webhook.deliveryId }),
      ...(webhook.requestedRoute === null ? {} : { requested_route: webhook.requestedRoute }),
      ...(since === 1 ? {} : { webhooks: since }),
    };
    if (outcome === 'ignored') this.#logger.info(line, 'webhook ignored');
    else this.#logger.warn(line, 'webhook refused');
  }

  #hasRoom(now: number): boolean {
    if (this.#kinds.size < MOST_KINDS) return true;
    for (const [key, { loggedAt }] of this.#kinds) if (now - loggedAt >= EVERY_MS) this.#kinds.delete(key);
    return this.#kinds.size < MOST_KINDS;
  }
}
