import type { Config } from '@angelia/contracts';
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
  Put,
  Query,
  Res,
  UseGuards,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { parseQuery, routeName } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import { type Precondition, RouteChanges, unknownRoute } from '../../routes/route-changes.ts';
import { LiveRoutes } from '../../routes/route-registry.ts';
import { madeRouteJson, routeOfFileJson } from './route-json.ts';
import { type PutRouteJson, type RouteJson, routesQuery } from './routes.operations.ts';

/** Routes at run time. What is shown is what the log says now, also of changes that another replica made. */
@Controller('/v1/routes')
@UseGuards(AdminTokenGuard)
export class RoutesController {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LiveRoutes) private readonly live: LiveRoutes,
    @Inject(RouteChanges) private readonly changes: RouteChanges,
  ) {}

  @Get()
  async list(@Query() query: unknown): Promise<{ items: RouteJson[]; next_cursor: string | null }> {
    const { limit, cursor } = parseQuery(routesQuery, query);
    await this.live.catchUp();
    const after = cursor === undefined ? '' : nameBehind(cursor);
    const names = new Set([
      ...Object.keys(this.config.routes),
      ...this.live.madeRoutes().map((route) => route.name),
    ]);
    const rest = [...names].filter((name) => name > after).sort();
    const items = rest.slice(0, limit).flatMap((name) => this.find(name) ?? []);
    const last = items.at(-1)?.name;
    return {
      items,
      next_cursor: rest.length > limit && last !== undefined ? Buffer.from(last).toString('base64url') : null,
    };
  }

  @Get('/:name')
  async show(
    @Param('name') name: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RouteJson> {
    const wanted = aRouteName(name);
    await this.live.catchUp();
    const found = this.find(wanted);
    if (found === undefined) throw unknownRoute(wanted);
    tag(reply, found);
    return found;
  }

  @Put('/:name')
  async put(
    @Param('name') name: string,
    @Body() body: unknown,
    @Headers() headers: Record<string, unknown>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PutRouteJson> {
    const put = await this.changes.put(aRouteName(name), body, preconditionOf(headers));
    const route = madeRouteJson(put.route);
    reply.code(put.created ? 201 : 200).header('cache-control', 'no-store');
    tag(reply, route);
    return put.madeSecret === null ? route : { ...route, secret: put.madeSecret };
  }

  @Delete('/:name')
  @HttpCode(204)
  async delete(@Param('name') name: string, @Headers() headers: Record<string, unknown>): Promise<void> {
    await this.changes.delete(aRouteName(name), preconditionOf(headers));
  }

  private find(name: string): RouteJson | undefined {
    const ofFile = Object.hasOwn(this.config.routes, name) ? this.config.routes[name] : undefined;
    if (ofFile !== undefined) return routeOfFileJson(name, ofFile, this.config.secret);
    const made = this.live.madeRoute(name);
    return made === undefined ? undefined : madeRouteJson(made);
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
    throw new Refusal(400, 'bad_precondition', 'header `If-None-Match`: only `*` is understood');
  }
  const absent = noneMatch === '*';
  if (match === undefined) return { absent };
  const revision = ETAG.exec(String(match))?.[1];
  if (revision === undefined) {
    throw new Refusal(
      400,
      'bad_precondition',
      'header `If-Match`: the `ETag` of the route is wanted, as "3"',
    );
  }
  return { absent, revision: Number(revision) };
}

function nameBehind(cursor: string): string {
  const parsed = routeName.safeParse(Buffer.from(cursor, 'base64url').toString());
  if (parsed.success) return parsed.data;
  throw new InvalidCursor('not one that the list of routes gave out');
}

function aRouteName(name: string): string {
  const parsed = routeName.safeParse(name);
  if (parsed.success) return parsed.data;
  throw new Refusal(
    400,
    'bad_route_name',
    'this is no name of a route: lower-case letters, digits, - and _, at most 63, the first a letter or digit',
  );
}
