import type { Bus } from '@angelia/bus';
import { type Environment, isShortSecret, type RunningConfig } from '@angelia/config';
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
import { untilTick, WakeUp, within } from '@angelia/waiting';
import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Refusal } from '../http/refusal.ts';
import type { IngressSettings } from '../settings.ts';
import type { Route, RouteTable } from '../webhooks/route.ts';
import {
  type ApiRoute,
  apiRouteFrom,
  definitionIn,
  nameOf,
  type RouteContext,
  recompiled,
  secretsOf,
} from './api-route.ts';
import { type MasterKey, masterKeyOf } from './master-key.ts';

/**
 * For when no ping comes because NATS is away: every replica knows a change within a second. Costs one look-up by primary
 * key, whatever the number of routes.
 */
const POLL_MS = 900;
/** With NATS, only a change of a replica that died before its ping waits for this. Shorter than `STALE_MS`. */
const POLL_BESIDE_PINGS_MS = 3_000;
/** If the log was not read for this long, an unknown name may be a route by now. */
const STALE_MS = 5_000;
/** A working log answers within milliseconds. One that is away must not keep ingress from starting. */
const FIRST_READ_MS = 1_000;
const RETRY_SOON_SECONDS = 5;
/** Somebody has to repair the route first. */
const RETRY_LATER_SECONDS = 60;

/**
 * All routes that take webhooks: those of the config file, which win, and those made by API, which follow the log. For a
 * webhook this costs one or two look-ups in a map.
 */
@Injectable()
export class RouteRegistry implements RouteTable, OnModuleInit, OnModuleDestroy {
  readonly #masterKey: MasterKey | null;
  readonly #apiRoutes = new Map<string, ApiRoute>();
  /** Of the stream `routes`: `#apiRoutes` contains everything up to this version. */
  #version = 0;
  #readAt: number | null = null;
  #reading: Promise<unknown> = Promise.resolve();
  readonly #wakeUp = new WakeUp();
  readonly #stopping = new AbortController();
  #unsubscribe: () => void = () => {};

  constructor(
    @Inject(CONFIG) private readonly config: RunningConfig<IngressSettings>,
    @Inject(ENVIRONMENT) private readonly environment: Environment,
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(BUS) private readonly bus: Pick<Bus, 'subscribe' | 'serverVersion'>,
    @Inject(HEALTH) health: Health,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const { masterKey } = environment;
    this.#masterKey = masterKey === undefined ? null : masterKeyOf(masterKey);
    this.#warnAboutConfig(config.current);
    config.onTaken((taken) => {
      this.#warnAboutConfig(taken);
      for (const [name, route] of this.#apiRoutes) this.#set(name, recompiled(route, this.context));
    });
    health.add('routes', () =>
      this.#readAt === null ? { ok: false, reason: 'routes made by API are not read yet' } : { ok: true },
    );
  }

  /** Under which a route made by API is checked. */
  get context(): RouteContext {
    return {
      config: this.config.current,
      listenHost: this.environment.host,
      masterKey: this.#masterKey,
    };
  }

  get(name: string): Route | undefined {
    const configRoute = this.#configRoutes.get(name);
    if (configRoute !== undefined) return configRoute;
    const compiled = this.#apiRoutes.get(name)?.compiled;
    return compiled?.usable === true ? compiled.route : undefined;
  }

  /** Why `get` returns nothing, if the reason is not simply that there is no such route. */
  whyMissing(name: string): Refusal | null {
    if (this.#apiRoutes.has(name)) {
      return new Refusal(
        503,
        'route_unusable',
        `route ${name} exists but cannot be used right now: GET /v1/routes/${name} says why`,
        RETRY_LATER_SECONDS,
      );
    }
    if (this.#readAt !== null && performance.now() - this.#readAt < STALE_MS) return null;
    return new Refusal(
      503,
      'routes_not_read',
      'routes made by API cannot be read right now, and this may be one: send it again later',
      RETRY_SOON_SECONDS,
    );
  }

  isInConfigFile(name: string): boolean {
    return this.#configRoutes.has(name);
  }

  /** Also finds one that a route of the config file hides. */
  apiRoute(name: string): ApiRoute | undefined {
    return this.#apiRoutes.get(name);
  }

  apiRoutes(): readonly ApiRoute[] {
    return [...this.#apiRoutes.values()];
  }

  async onModuleInit(): Promise<void> {
    this.#unsubscribe = this.bus.subscribe(ROUTES_PING_SUBJECT, () => this.#wakeUp.wake());
    const firstRead = Promise.withResolvers<void>();
    void this.#keepUp(firstRead.resolve);
    await within(FIRST_READ_MS, firstRead.promise);
  }

  /** Does not wait for a read in flight: a frozen Postgres must not hold up the drain, and its answer changes nothing. */
  onModuleDestroy(): void {
    this.#unsubscribe();
    this.#stopping.abort();
  }

  /**
   * Reads the log, at some time after this call. One read at a time; each call has its own. Returns the version of the
   * stream `routes` that it saw.
   */
  catchUp(): Promise<number> {
    const read = this.#reading.then(() => this.#read());
    this.#reading = read.catch(() => {}); // The caller of catchUp gets the error.
    return read;
  }

  /**
   * Applies a change that this replica has just committed, after a read in flight. So this replica knows it even if the log
   * cannot be read right now, and can still return a secret that it generated.
   */
  async applyOwn(event: RecordedEvent): Promise<void> {
    const applied = this.#reading.then(() => this.#apply(nameOf(event), [event]));
    this.#reading = applied;
    await applied;
  }

  async #keepUp(afterFirstRead: () => void): Promise<void> {
    let failing = false;
    while (!this.#stopping.signal.aborted) {
      try {
        await this.catchUp();
        failing = false;
      } catch (error) {
        if (!failing && !this.#stopping.signal.aborted) {
          this.logger.warn({ err: error }, 'cannot read routes made by API; continuing with the known ones');
        }
        failing = true;
      }
      afterFirstRead();
      const pollMs = this.bus.serverVersion === null ? POLL_MS : POLL_BESIDE_PINGS_MS;
      await this.#wakeUp.wait(untilTick(pollMs), this.#stopping.signal);
    }
  }

  async #read(): Promise<number> {
    const began = performance.now();
    const changes = await this.log.streams.read(ROUTES_STREAM, this.#version + 1);
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
    for (const [name, events] of histories) this.#apply(name, events);
    this.#version = changes.at(-1)?.version ?? this.#version;
    this.#readAt = began;
    return this.#version;
  }

  #apply(name: string, events: readonly RecordedEvent[]): void {
    const last = definitionIn(events);
    if (last === null) {
      this.#apiRoutes.delete(name);
      return;
    }
    const route = apiRouteFrom(last, this.context);
    this.#set(name, route);
    const opened = secretsOf(route, this.#masterKey);
    if (opened.ok) this.#warnAboutShortSecrets(name, opened.secrets);
  }

  #set(name: string, route: ApiRoute): void {
    this.#apiRoutes.set(name, route);
    const { compiled } = route;
    if (!compiled.usable) {
      this.logger.error({ route: name, problem: compiled.problem }, 'a route made by API cannot be used');
    }
    if (this.#configRoutes.has(name)) {
      this.logger.warn(
        { route: name },
        'a route of the config file hides the route of the same name made by API',
      );
    }
  }

  get #configRoutes(): ReadonlyMap<string, Route> {
    return this.config.settings.routes;
  }

  #warnAboutConfig(config: Config): void {
    for (const [name, { secret = config.secret ?? [] }] of Object.entries(config.routes)) {
      this.#warnAboutShortSecrets(name, [secret].flat());
    }
  }

  #warnAboutShortSecrets(route: string, secrets: readonly string[]): void {
    if (!secrets.some(isShortSecret)) return;
    this.logger.warn(
      { route },
      'a secret of this route has fewer than 16 characters and may be guessed: choose a longer one, for example with `openssl rand -base64 32`',
    );
  }
}
