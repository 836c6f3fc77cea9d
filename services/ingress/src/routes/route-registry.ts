import type { Bus } from '@angelia/bus';
import { type Environment, isShortSecret } from '@angelia/config';
import {
  type Config,
  type RecordedEvent,
  ROUTES_PING_SUBJECT,
  ROUTES_STREAM,
  routeEventSchemas,
  routeStreamId,
} from '@angelia/contracts';
import type { EventLog } from '@angelia/event-log';
import {
  BUS,
  CONFIG,
  ENVIRONMENT,
  EVENT_LOG,
  HEALTH,
  type Health,
  LOGGER,
  type Logger,
} from '@angelia/service-kit';
import { WakeUp } from '@angelia/waiting';
import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Refusal } from '../http/refusal.ts';
import { compileRoutes, type Route, type RouteTable } from '../webhooks/compile-route.ts';
import { type LiveRoute, lastOf, liveRoute, nameOf, type Surroundings, secretsOf } from './api-route.ts';
import { masterKeyOf } from './master-key.ts';

/**
 * The floor when no ping comes (NATS away): a change is known everywhere within a second. One look-up by primary key,
 * whatever the number of routes.
 */
const POLL_MS = 900;
/** Without a look at the log for this long, a name that is not known may well be a route by now. */
const STALE_MS = 5_000;
/** A log that is there answers within milliseconds; one that is not must not keep ingress from starting. */
const FIRST_LOOK_MS = 1_000;
const RETRY_SOON_SECONDS = 5;
/** Somebody has to mend the route first. */
const RETRY_LATER_SECONDS = 60;

/**
 * All routes that take webhooks: those of the config file, which win, and those made by API, kept up with the log. A
 * lookup is one or two look-ups in a map; nothing else of this is on the way of a webhook.
 */
@Injectable()
export class LiveRoutes implements RouteTable, OnModuleInit, OnModuleDestroy {
  readonly surroundings: Surroundings;
  private readonly ofFile: ReadonlyMap<string, Route>;
  private readonly made = new Map<string, LiveRoute>();
  /** Of the stream `routes`: everything up to here is in `made`. */
  private seen = 0;
  private lookedAt: number | null = null;
  private looking: Promise<unknown> = Promise.resolve();
  private readonly wakeUp = new WakeUp();
  private readonly ending = new AbortController();
  private unsubscribe: () => void = () => {};

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(ENVIRONMENT) environment: Environment,
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(BUS) private readonly bus: Pick<Bus, 'subscribe'>,
    @Inject(HEALTH) health: Health,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.ofFile = compileRoutes(config);
    for (const [name, { secret = config.secret ?? [] }] of Object.entries(config.routes)) {
      this.warnOfShort(name, [secret].flat());
    }
    this.surroundings = {
      config,
      listenHost: environment.host,
      masterKey: environment.masterKey === undefined ? null : masterKeyOf(environment.masterKey),
    };
    health.add('routes', () =>
      this.lookedAt === null ? { ok: false, reason: 'routes made by API are not read yet' } : { ok: true },
    );
  }

  get(name: string): Route | undefined {
    const ofFile = this.ofFile.get(name);
    if (ofFile !== undefined) return ofFile;
    const standing = this.made.get(name)?.standing;
    return standing?.usable === true ? standing.route : undefined;
  }

  /** Why `get` has nothing, where that is not simply that there is no such route. */
  absence(name: string): Refusal | null {
    if (this.made.has(name)) {
      return new Refusal(
        503,
        'route_unusable',
        `route ${name} is defined and cannot be used right now: GET /v1/routes/${name} says why`,
        RETRY_LATER_SECONDS,
      );
    }
    if (this.lookedAt !== null && performance.now() - this.lookedAt < STALE_MS) return null;
    return new Refusal(
      503,
      'routes_not_read',
      'routes made by API cannot be read right now, and this may be one: send it again later',
      RETRY_SOON_SECONDS,
    );
  }

  isOfFile(name: string): boolean {
    return this.ofFile.has(name);
  }

  /** Also one that a route of the config file hides. */
  madeRoute(name: string): LiveRoute | undefined {
    return this.made.get(name);
  }

  madeRoutes(): readonly LiveRoute[] {
    return [...this.made.values()];
  }

  async onModuleInit(): Promise<void> {
    this.unsubscribe = this.bus.subscribe(ROUTES_PING_SUBJECT, () => this.wakeUp.wake());
    let firstLook: () => void = () => {};
    const looked = new Promise<void>((resolve) => {
      firstLook = resolve;
    });
    void this.keepUp(firstLook);
    const timer = setTimeout(firstLook, FIRST_LOOK_MS);
    await looked;
    clearTimeout(timer);
  }

  /** A look under way is not waited for: a frozen Postgres must not hold up the drain, and its answer changes nothing. */
  onModuleDestroy(): void {
    this.unsubscribe();
    this.ending.abort();
  }

  /**
   * What the log says at some time after this call began: one look at a time, each a read of its own. Returns the
   * version of the stream `routes` that it saw.
   */
  catchUp(): Promise<number> {
    const look = this.looking.then(() => this.look());
    this.looking = look.catch(() => {}); // Told to whoever asked.
    return look;
  }

  /**
   * A change that this replica has just committed, in its turn behind a look under way: so it is known here even if the
   * log cannot be read right now, and a secret that was made for it can still be told.
   */
  async takeOwn(event: RecordedEvent): Promise<void> {
    const took = this.looking.then(() => this.take(nameOf(event), [event]));
    this.looking = took;
    await took;
  }

  private async keepUp(afterFirstLook: () => void): Promise<void> {
    let failing = false;
    while (!this.ending.signal.aborted) {
      try {
        await this.catchUp();
        failing = false;
      } catch (error) {
        if (!failing && !this.ending.signal.aborted) {
          this.logger.warn({ err: error }, 'routes made by API cannot be read: going on with those known');
        }
        failing = true;
      }
      afterFirstLook();
      await this.wakeUp.wait(POLL_MS, this.ending.signal);
    }
  }

  private async look(): Promise<number> {
    const began = performance.now();
    const changes = await this.log.streams.read(ROUTES_STREAM, this.seen + 1);
    const changed = new Map<string, number>();
    for (const change of changes) {
      const { name, version } = routeEventSchemas['routes.changed'].parse(change.data);
      changed.set(name, version);
    }
    const histories = await Promise.all(
      [...changed].map(
        async ([name, version]) => [name, await this.log.streams.read(routeStreamId(name), version)] as const,
      ),
    );
    for (const [name, events] of histories) this.take(name, events);
    this.seen = changes.at(-1)?.version ?? this.seen;
    this.lookedAt = began;
    return this.seen;
  }

  private take(name: string, events: readonly RecordedEvent[]): void {
    const last = lastOf(events);
    if (last === null) {
      this.made.delete(name);
      return;
    }
    const live = liveRoute(last, this.surroundings);
    this.made.set(name, live);
    const { standing } = live;
    if (!standing.usable) {
      this.logger.error({ route: name, problem: standing.problem }, 'a route made by API cannot be used');
    }
    const opened = secretsOf(live, this.surroundings.masterKey);
    if (opened.ok) this.warnOfShort(name, opened.secrets);
    if (this.ofFile.has(name)) {
      this.logger.warn({ route: name }, 'a route of the config file hides the one of that name made by API');
    }
  }

  private warnOfShort(route: string, secrets: readonly string[]): void {
    if (!secrets.some(isShortSecret)) return;
    this.logger.warn(
      { route },
      'a secret of this route has fewer than 16 characters and may be guessed: choose a longer one, for example by `openssl rand -base64 32`',
    );
  }
}
