import type { CurrentConfig } from '@angelia/config';
import { InvalidCursor } from '@angelia/event-log';
import { CONFIG } from '@angelia/service-kit';
import {
  Body,
  Controller,
  Delete,
  Get,
  Headers,
  HttpCode,
  Inject,
  Param,
  Post,
  Put,
  Query,
  Res,
  UseGuards,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { Actor } from '../../access/caller.ts';
import { parseBody, parseQuery, routeName } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import { type Precondition, RouteChanges, unknownRoute } from '../../routes/route-changes.ts';
import { RouteRegistry } from '../../routes/route-registry.ts';
import { apiRouteJson, configRouteJson } from './route-json.ts';
import { checkedName } from './route-name.ts';
import { RouteTraffic } from './route-traffic.ts';
import {
  type PutRouteJson,
  type RotatedJson,
  type RouteJson,
  rotation,
  routeQuery,
  routesQuery,
} from './routes.operations.ts';

/** Routes at run time. Answers show the current log, including changes that another replica made. */
@Controller('/v1/routes')
@UseGuards(AdminTokenGuard)
export class RoutesController {
  constructor(
    @Inject(CONFIG) private readonly config: CurrentConfig,
    @Inject(RouteRegistry) private readonly registry: RouteRegistry,
    @Inject(RouteChanges) private readonly changes: RouteChanges,
    @Inject(RouteTraffic) private readonly traffic: RouteTraffic,
  ) {}

  @Get()
  async list(@Query() query: unknown): Promise<{ items: RouteJson[]; next_cursor: string | null }> {
    const { limit, cursor, traffic } = parseQuery(routesQuery, query);
    await this.registry.catchUp();
    const after = cursor === undefined ? '' : nameOfCursor(cursor);
    const names = new Set([
      ...Object.keys(this.config.current.routes),
      ...this.registry.apiRoutes().map((route) => route.name),
    ]);
    const rest = [...names].filter((name) => name > after).sort();
    const items = rest.slice(0, limit).flatMap((name) => this.#find(name) ?? []);
    const last = items.at(-1)?.name;
    return {
      items: traffic ? await this.traffic.addTo(items) : items,
      next_cursor: rest.length > limit && last !== undefined ? Buffer.from(last).toString('base64url') : null,
    };
  }

  @Get('/:name')
  async show(
    @Param('name') name: string,
    @Query() query: unknown,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RouteJson> {
    const { traffic } = parseQuery(routeQuery, query);
    const wanted = checkedName(name);
    await this.registry.catchUp();
    const found = this.#find(wanted);
    if (found === undefined) throw unknownRoute(wanted);
    tag(reply, found);
    return traffic ? ((await this.traffic.addTo([found]))[0] ?? found) : found;
  }

  @Put('/:name')
  async put(
    @Param('name') name: string,
    @Body() body: unknown,
    @Headers() headers: Record<string, unknown>,
    @Actor() actor: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PutRouteJson> {
    const put = await this.changes.put(checkedName(name), body, preconditionOf(headers), actor);
    const route = apiRouteJson(put.route);
    reply.code(put.created ? 201 : 200).header('cache-control', 'no-store');
    tag(reply, route);
    return put.generatedSecret === null ? route : { ...route, secret: put.generatedSecret };
  }

  @Delete('/:name')
  @HttpCode(204)
  async delete(
    @Param('name') name: string,
    @Headers() headers: Record<string, unknown>,
    @Actor() actor: string,
  ): Promise<void> {
    await this.changes.delete(checkedName(name), preconditionOf(headers), actor);
  }

  @Post('/:name/rotate-secret')
  @HttpCode(200)
  async rotateSecret(
    @Param('name') name: string,
    @Body() body: unknown,
    @Headers() headers: Record<string, unknown>,
    @Actor() actor: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RotatedJson> {
    const { keep_previous: keepPrevious } = parseBody(rotation, body ?? {});
    const rotated = await this.changes.rotateSecret(
      checkedName(name),
      keepPrevious,
      preconditionOf(headers),
      actor,
    );
    const route = apiRouteJson(rotated.route);
    reply.header('cache-control', 'no-store');
    tag(reply, route);
    return { ...route, secret: rotated.secret, secrets: rotated.secrets };
  }

  #find(name: string): RouteJson | undefined {
    const { routes, secret } = this.config.current;
    const configRoute = Object.hasOwn(routes, name) ? routes[name] : undefined;
    if (configRoute !== undefined) return configRouteJson(name, configRoute, secret);
    const apiRoute = this.registry.apiRoute(name);
    return apiRoute === undefined ? undefined : apiRouteJson(apiRoute);
  }
}

function tag(reply: FastifyReply, { revision }: RouteJson): void {
  if (revision !== null) reply.header('etag', `"${revision}"`);
}

const ETAG = /^"([1-9][0-9]{0,8})"$/;

function preconditionOf(headers: Record<string, unknown>): Precondition {
  const match = headers['if-match'];
  const noneMatch = headers['if-none-match'];
  if (noneMatch !== undefined && noneMatch !== '*') {
    throw new Refusal(400, 'bad_precondition', 'header `If-None-Match`: only `*` is supported');
  }
  const absent = noneMatch === '*';
  if (match === undefined) return { absent };
  const revision = ETAG.exec(String(match))?.[1];
  if (revision === undefined) {
    throw new Refusal(
      400,
      'bad_precondition',
      'header `If-Match`: give the `ETag` of the route, for example "3"',
    );
  }
  return { absent, revision: Number(revision) };
}

function nameOfCursor(cursor: string): string {
  const parsed = routeName.safeParse(Buffer.from(cursor, 'base64url').toString());
  if (parsed.success) return parsed.data;
  throw new InvalidCursor('not a cursor of the list of routes');
}
