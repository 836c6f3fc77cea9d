import type { CurrentConfig } from '@angelia/config';
import { type SessionId, watcherResource, watchResource } from '@angelia/contracts';
import type { EventLog, Leases } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import type { Loaded } from '@angelia/sessions';
import { pause } from '@angelia/waiting';

export type AffinityLog = Pick<EventLog, 'append'> & { readonly leases: Pick<Leases, 'read' | 'renew'> };

/**
 * Decides which watcher owns a session, so that the session's files stay on one host.
 *
 * Any watcher may carry out the first call: the one that takes its lease does. From the first result on, the log names the
 * owner (`watcher` in tool.finished and process.started). It stays the owner while it is alive, which it shows by a lease
 * on its own name. The holder of a lease is the stable instance, not one start of it: a watcher that restarts is the same
 * host with the same files. A watcher that has not renewed for `host_lease_seconds` is gone for good, and the next
 * watcher that looks takes over its sessions.
 */
export class SessionAffinity {
  readonly #log: AffinityLog;
  readonly #instance: string;
  readonly #holder: string;
  readonly #seconds: number;
  readonly #logger: Logger;
  readonly #held = new Set<string>();
  readonly #stopping = new AbortController();

  constructor(options: {
    readonly log: AffinityLog;
    readonly instance: string;
    readonly config: CurrentConfig;
    readonly logger: Logger;
  }) {
    this.#log = options.log;
    this.#instance = options.instance;
    this.#holder = holderOf(options.instance);
    this.#seconds = options.config.current.process_watcher.host_lease_seconds;
    this.#logger = options.logger;
  }

  /** Takes the lease that shows that this watcher is alive, and keeps renewing it. */
  start(): void {
    void this.#keepRenewing();
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** False if the session belongs to another watcher that is alive. */
  async isOurs({ state }: Pick<Loaded, 'state'>): Promise<boolean> {
    const owner = state.watcher ?? null;
    if (owner === null || owner === this.#instance) return true;
    return !(await this.isAlive(owner));
  }

  async isAlive(instance: string): Promise<boolean> {
    if (instance === this.#instance) return true;
    const { lease, now } = await this.#log.leases.read(watcherResource(instance));
    return lease !== null && lease.expiresAt > now;
  }

  /**
   * Takes the lease on the session's calls. `ours`: carry out the call. `theirs`: another watcher has it. `unknown`: another
   * watcher had it, may have begun it, and is gone. `now` is the database's clock.
   */
  async claim(
    id: SessionId,
    callStartedAt: number,
  ): Promise<{ readonly whose: 'ours' | 'theirs' | 'unknown'; readonly now: number }> {
    const resource = watchResource(id);
    const { lease, now } = await this.#log.leases.read(resource);
    const another = lease !== null && lease.holder !== this.#holder;
    if (another && lease.expiresAt > now) return { whose: 'theirs', now };
    if (!(await this.#take(resource))) return { whose: 'theirs', now };
    this.#held.add(resource);
    // A watcher renews its lease before it starts a call, so it cannot have started a call that is newer than its lease.
    return { whose: another && lease.renewedAt >= callStartedAt ? 'unknown' : 'ours', now };
  }

  /** No call of this session is in flight any more. The lease expires by itself; until then a further call is still ours. */
  release(id: SessionId): void {
    this.#held.delete(watchResource(id));
  }

  /** Never rejects. */
  async #keepRenewing(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let ms = (this.#seconds * 1000) / RENEWALS_PER_LEASE;
      try {
        await this.#renew();
      } catch (error) {
        this.#logger.debug({ err: error }, 'leases not renewed; will retry');
        ms = RETRY_MS;
      }
      await pause(ms, signal);
    }
  }

  async #renew(): Promise<void> {
    const own = watcherResource(this.#instance);
    const renewed = await this.#log.leases.renew([own, ...this.#held], this.#holder, this.#seconds);
    if (renewed.includes(own)) return;
    await this.#take(own);
  }

  /** Takes a lease without an event: this appends nothing to a stream that never exists. */
  async #take(resource: string): Promise<boolean> {
    const { status } = await this.#log.append({
      streams: [{ streamId: resource, expectedVersion: 0, events: [] }],
      lease: { resource, holder: this.#holder, seconds: this.#seconds },
    });
    return status === 'appended';
  }
}

/** Differs from the name under which a restarted service frees its predecessor's leases (log.leases.freeOf). */
function holderOf(instance: string): string {
  return `host:${instance}`;
}

const RENEWALS_PER_LEASE = 4;
/** Postgres may start after the services, and the other watchers consider this one gone until its first lease. */
const RETRY_MS = 500;
