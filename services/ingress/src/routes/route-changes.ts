import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Bus } from '@angelia/bus';
import { literalApiRoute } from '@angelia/config';
import {
  type ConfigProblem,
  type NewEvent,
  ROUTES_PING_SUBJECT,
  ROUTES_STREAM,
  type RouteEventData,
  type RouteEventType,
  routeStreamId,
  SCHEMA_VERSION,
} from '@angelia/contracts';
import { type EventLog, UnstorableEvent } from '@angelia/event-log';
import { BUS, EVENT_LOG } from '@angelia/service-kit';
import { newEventId, TooManyConflicts, traceparentNow } from '@angelia/sessions';
import { Inject, Injectable } from '@nestjs/common';
import { Refusal } from '../http/refusal.ts';
import { INSECURE_NO_AUTH } from '../webhooks/compile-route.ts';
import { compileMade, type LiveRoute, secretsOf } from './api-route.ts';
import { NO_MASTER_KEY } from './master-key.ts';
import { LiveRoutes } from './route-registry.ts';

/** Every replica holds all of them in memory, compiled. */
const MOST_ROUTES = 1_000;
/** Of one definition as JSON: a prompt of a few pages. With the number above, a bound on what a replica holds. */
const LARGEST_DEFINITION = 64 * 1024;
/** Definitions are flat; filters and headers nest a few levels. Deeper ones only try the stack. */
const DEEPEST_DEFINITION = 32;
/** Each conflict is somebody else's change, and changes are made by hand or by a deployment: this many is a fault. */
const MOST_CONFLICTS = 50;
/** Of one kind of problem: a definition could be full of them, and the answer would be many times its size. */
const MOST_TOLD = 10;
/** As Standard Webhooks asks for (24 to 64); any other scheme takes the whole text as it is. */
const SECRET_BYTES = 32;

export interface Precondition {
  /** Of `If-Match`: the revision that the caller has seen. */
  readonly revision?: number | undefined;
  /** `If-None-Match: *`: only if there is none. */
  readonly absent?: boolean | undefined;
}

export interface PutRoute {
  readonly route: LiveRoute;
  readonly created: boolean;
  /** Made by this call: the only time that it is shown. */
  readonly madeSecret: string | null;
}

/**
 * Makes, changes and deletes routes. The route's stream and the stream of all changes are appended together at the
 * versions that were seen, so that of two changes at once one comes first, and the other is decided on what it left.
 */
@Injectable()
export class RouteChanges {
  constructor(
    @Inject(LiveRoutes) private readonly live: LiveRoutes,
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(BUS) private readonly bus: Pick<Bus, 'ping'>,
  ) {}

  /** @throws Refusal 400, 409, 412, 413, 503; what the log throws: nothing was changed, or the same PUT again is harmless */
  async put(name: string, body: unknown, precondition: Precondition): Promise<PutRoute> {
    this.refuseOfFile(name);
    const wanted = plainObject(body);
    refuseBeyondBounds(wanted);
    const { secret: given, ...definition } = literal(wanted);
    const { masterKey } = this.live.surroundings;
    const fresh = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
    return this.decideAndAppend(name, async (current, append) => {
      checkPrecondition(name, current, precondition);
      if (current === undefined && this.live.madeRoutes().length >= MOST_ROUTES) {
        throw new Refusal(
          409,
          'too_many_routes',
          `there are ${MOST_ROUTES} routes made by API: delete one first`,
        );
      }
      const kept =
        given === undefined && current !== undefined && current.sealed !== null ? current : undefined;
      const secrets = kept === undefined ? wantedSecrets(given, fresh) : this.keptSecrets(kept);
      const compiled = compileMade(name, definition, secrets, this.live.surroundings);
      if (!compiled.usable) throw new Refusal(400, 'bad_route', compiled.problem);
      if (current !== undefined && this.isSame(current, definition, secrets)) {
        return { route: current, created: false, madeSecret: null };
      }
      const open = secrets[0] === INSECURE_NO_AUTH;
      if (!open && masterKey === null) throw new Refusal(503, 'no_master_key', NO_MASTER_KEY);
      const sealed = open || masterKey === null ? null : masterKey.seal(name, secrets);
      if (!(await append('route.defined', { name, definition, secret: sealed }))) return 'conflict';
      const route = this.live.madeRoute(name);
      if (route === undefined) {
        throw new Refusal(
          409,
          'changed_meanwhile',
          `route ${name} was deleted right after it was made: PUT it again`,
        );
      }
      const made = kept === undefined && given === undefined;
      return { route, created: current === undefined, madeSecret: made ? fresh : null };
    });
  }

  /** @throws Refusal 404, 409, 412; what the log throws */
  async delete(name: string, precondition: Precondition): Promise<void> {
    this.refuseOfFile(name);
    await this.decideAndAppend(name, async (current, append) => {
      if (current === undefined) throw unknownRoute(name);
      checkPrecondition(name, current, precondition);
      return (await append('route.deleted', { name })) ? 'deleted' : 'conflict';
    });
  }

  private async decideAndAppend<T>(
    name: string,
    decide: (
      current: LiveRoute | undefined,
      append: <E extends RouteEventType>(type: E, data: RouteEventData<E>) => Promise<boolean>,
    ) => Promise<T | 'conflict'>,
  ): Promise<T> {
    for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts += 1) {
      const seen = await this.live.catchUp();
      const current = this.live.madeRoute(name);
      const decided = await decide(current, async (type, data) =>
        this.append(name, current?.version ?? (await this.headOf(name)), seen, type, data),
      );
      if (decided !== 'conflict') return decided;
    }
    throw new TooManyConflicts(`route ${name}: ${MOST_CONFLICTS} changes in a row met a newer one`);
  }

  /** False: somebody else was first. Afterwards this replica knows the change; the others are told. */
  private async append<E extends RouteEventType>(
    name: string,
    version: number,
    seen: number,
    type: E,
    data: RouteEventData<E>,
  ): Promise<boolean> {
    const streamId = routeStreamId(name);
    const event = newEvent(type, data);
    const changed = newEvent('routes.changed', { name, version: version + 1 });
    const result = await this.log
      .append({
        streams: [
          { streamId, expectedVersion: version, events: [event] },
          { streamId: ROUTES_STREAM, expectedVersion: seen, events: [changed] },
        ],
      })
      .catch(refuseUnstorable);
    if (result.status !== 'appended') return false;
    const { recordedAt } = result;
    const recorded = { ...event, position: 0, streamId, version: version + 1, schemaVersion: SCHEMA_VERSION };
    await this.live.takeOwn({ ...recorded, recordedAt });
    this.bus.ping(ROUTES_PING_SUBJECT);
    return true;
  }

  /** A route that was deleted leaves its stream, and goes on there when it is made again. */
  private async headOf(name: string): Promise<number> {
    return (await this.log.streams.read(routeStreamId(name))).at(-1)?.version ?? 0;
  }

  private keptSecrets(current: LiveRoute): readonly string[] {
    const opened = secretsOf(current, this.live.surroundings.masterKey);
    if (opened.ok) return opened.secrets;
    throw new Refusal(
      409,
      'secret_unreadable',
      `the secret of route ${current.name} cannot be kept: ${opened.problem}`,
    );
  }

  private isSame(
    current: LiveRoute,
    definition: Readonly<Record<string, unknown>>,
    secrets: readonly string[],
  ): boolean {
    if (!current.standing.usable || !isDeepStrictEqual(current.definition, definition)) return false;
    const opened = secretsOf(current, this.live.surroundings.masterKey);
    return opened.ok && isDeepStrictEqual(opened.secrets, secrets);
  }

  private refuseOfFile(name: string): void {
    if (!this.live.isOfFile(name)) return;
    throw new Refusal(
      409,
      'route_of_config',
      `route ${name} is defined in the config file, which wins: change it there, and start ingress again`,
    );
  }
}

export function unknownRoute(name: string): Refusal {
  return new Refusal(404, 'unknown_route', `there is no route ${name}: GET /v1/routes lists those there are`);
}

function refuseUnstorable(error: unknown): never {
  if (!(error instanceof UnstorableEvent)) throw error;
  throw new Refusal(
    400,
    'bad_route',
    'the route holds U+0000 or half a surrogate pair, which cannot be stored',
  );
}

function newEvent<E extends RouteEventType>(type: E, data: RouteEventData<E>): NewEvent {
  const traceparent = traceparentNow();
  return {
    eventId: newEventId(),
    type,
    data,
    meta: { actor: 'api', ...(traceparent === undefined ? {} : { traceparent }) },
  };
}

function checkPrecondition(
  name: string,
  current: LiveRoute | undefined,
  { revision, absent }: Precondition,
): void {
  if (absent === true && current !== undefined) {
    throw new Refusal(412, 'route_exists', `route ${name} exists already (revision ${current.version})`);
  }
  if (revision !== undefined && current?.version !== revision) {
    const is = current === undefined ? 'is not there' : `is at revision ${current.version}`;
    throw new Refusal(
      412,
      'route_changed',
      `route ${name} ${is}, not at ${revision}: GET it, and decide again`,
    );
  }
}

/** What is wrong with a given secret is told by the route's schema, in its place. */
function wantedSecrets(given: unknown, fresh: string): readonly string[] {
  return given === undefined ? [fresh] : ([given].flat() as string[]);
}

function plainObject(body: unknown): Record<string, unknown> {
  if (typeof body === 'object' && body !== null && !Array.isArray(body))
    return body as Record<string, unknown>;
  throw new Refusal(
    400,
    'bad_route',
    'a route is wanted: a JSON object with the keys that a route of the config has',
  );
}

/** Once, when it is made: what is stored and read again is the literal. */
function literal(wanted: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const problems: ConfigProblem[] = [];
  const route = literalApiRoute(wanted, problems);
  if (problems.length === 0) return route;
  const told = problems.slice(0, MOST_TOLD).map(({ place, reason }) => `\`${place}\`: ${reason}`);
  throw new Refusal(400, 'bad_route', told.join('; '));
}

function refuseBeyondBounds(definition: Readonly<Record<string, unknown>>): void {
  // Level by level and without recursion: a stack is what a hostile depth is after.
  let level: unknown[] = [definition];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEEPEST_DEFINITION) {
      throw new Refusal(400, 'bad_route', `the route is nested deeper than ${DEEPEST_DEFINITION} levels`);
    }
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
  }
  if (Buffer.byteLength(JSON.stringify(definition)) > LARGEST_DEFINITION) {
    throw new Refusal(
      413,
      'route_too_large',
      `a route made by API has at most ${LARGEST_DEFINITION} bytes of JSON`,
    );
  }
}
