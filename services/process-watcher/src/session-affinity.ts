import { type Config, type SessionId, watcherResource, watchResource } from '@angelia/contracts';
import type { EventLog, Leases } from '@angelia/event-log';
import type { Logger } from '@angelia/service-kit';
import type { Loaded } from '@angelia/sessions';
import type { OpenedCall } from './calls/tool-call.ts';

export type PinsLog = Pick<EventLog, 'append'> & { readonly leases: Pick<Leases, 'read' | 'renew'> };

/**
 * Which watcher a session belongs to, so that its files are in one place.
 *
 * The first call is anybody's: whoever takes its lease. From its result on, the log says whose the session is
 * (`watcher` in tool.finished and process.started), as long as that watcher is there: it keeps a lease on its own name.
 * Holders are the stable instance, not its incarnation: a watcher that restarts is the same host with the same files.
 * One that was not heard of for `host_lease_seconds` is gone for good, and the next that looks takes its sessions over.
 */
export class Pins {
  readonly #log: PinsLog;
  readonly #instance: string;
  readonly #holder: string;
  readonly #seconds: number;
  readonly #logger: Logger;
  readonly #held = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(options: {
    readonly log: PinsLog;
    readonly instance: string;
    readonly config: Config;
    readonly logger: Logger;
  }) {
    this.#log = options.log;
    this.#instance = options.instance;
    this.#holder = holderOf(options.instance);
    this.#seconds = options.config.process_watcher.host_lease_seconds;
    this.#logger = options.logger;
  }

  /** Says that this watcher is there, and goes on saying so. */
  start(): void {
    void this.#keepRenewing();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** False: another watcher that is there has this session. */
  async isOurs({ state }: Pick<Loaded, 'state'>): Promise<boolean> {
    const pinned = state.watcher ?? null;
    if (pinned === null || pinned === this.#instance) return true;
    return !(await this.isThere(pinned));
  }

  async isThere(instance: string): Promise<boolean> {
    if (instance === this.#instance) return true;
    const { lease, now } = await this.#log.leases.read(watcherResource(instance));
    return lease !== null && lease.expiresAt > now;
  }

  /**
   * Takes the lease of the session's calls. `ours`: carry it out. `theirs`: another watcher has it. `unknown`: another
   * watcher had it, may have begun it, and is gone. `now`: by the database's clock.
   */
  async claim(
    id: SessionId,
    call: OpenedCall,
  ): Promise<{ readonly whose: 'ours' | 'theirs' | 'unknown'; readonly now: number }> {
    const resource = watchResource(id);
    const { lease, now } = await this.#log.leases.read(resource);
    const another = lease !== null && lease.holder !== this.#holder;
    if (another && lease.expiresAt > now) return { whose: 'theirs', now };
    if (!(await this.#take(resource))) return { whose: 'theirs', now };
    this.#held.add(resource);
    // It renews its lease before it begins a call: one that came later it has not begun.
    return { whose: another && lease.renewedAt >= call.startedAt ? 'unknown' : 'ours', now };
  }

  /** No call of this session is in hand. The lease runs out; until then a further call is ours anyway. */
  release(id: SessionId): void {
    this.#held.delete(watchResource(id));
  }

  /** Never rejects. */
  async #keepRenewing(): Promise<void> {
    let ms = (this.#seconds * 1000) / RENEWALS_PER_LEASE;
    try {
      await this.#renew();
    } catch (error) {
      this.#logger.debug({ err: error }, 'the leases of this watcher could not be renewed: trying again');
      ms = TRY_AGAIN_MS;
    }
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#keepRenewing(), ms).unref();
  }

  async #renew(): Promise<void> {
    const own = watcherResource(this.#instance);
    const renewed = await this.#log.leases.renew([own, ...this.#held], this.#holder, this.#seconds);
    if (renewed.includes(own)) return;
    await this.#take(own);
  }

  /** A lease without an event: the append is to a stream that is never there. */
  async #take(resource: string): Promise<boolean> {
    const { status } = await this.#log.append({
      streams: [{ streamId: resource, expectedVersion: 0, events: [] }],
      lease: { resource, holder: this.#holder, seconds: this.#seconds },
    });
    return status === 'appended';
  }
}

/** Not the name by which a restarted service frees what its predecessor held (log.leases.freeOf). */
function holderOf(instance: string): string {
  return `host:${instance}`;
}

const RENEWALS_PER_LEASE = 4;
/** Postgres may start after the services do, and until the first one the others take us for gone. */
const TRY_AGAIN_MS = 500;
