import { type CurrentConfig, literalApiRoute } from '@angelia/config';
import type { ConfigProblem, DeliveryTarget, FilterConfig } from '@angelia/contracts';
import { CONFIG } from '@angelia/service-kit';
import { Body, Controller, HttpCode, Inject, Param, Post, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { Actor } from '../../access/caller.ts';
import { parseBody } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import { tryApiRoute } from '../../routes/api-route.ts';
import { refuseBeyondBounds, unknownRoute } from '../../routes/route-changes.ts';
import { RouteRegistry } from '../../routes/route-registry.ts';
import { type PreviewedWebhook, previewWebhook } from '../../webhooks/preview/preview-webhook.ts';
import { sentWebhook } from '../../webhooks/preview/sent-webhook.ts';
import type { Route } from '../../webhooks/route.ts';
import { WebhookEndpoint } from '../../webhooks/webhook.endpoint.ts';
import { checkedName } from './route-name.ts';
import { type PreviewJson, previewBody, type TestedJson, testBody } from './routes.operations.ts';

/** For a preview without a name, and without a secret. Neither is stored or compared with anything. */
const PREVIEW_NAME = 'preview';
const PREVIEW_SECRET = 'of-no-use-outside-of-this-preview';

interface FoundRoute {
  readonly route: Route;
  readonly filters: readonly FilterConfig[];
}

/** Tries a route before a sender does: what would a webhook do, and what does it do? */
@Controller('/v1/routes')
@UseGuards(AdminTokenGuard)
export class RouteTrialsController {
  constructor(
    @Inject(CONFIG) private readonly config: CurrentConfig,
    @Inject(RouteRegistry) private readonly registry: RouteRegistry,
    @Inject(WebhookEndpoint) private readonly webhooks: WebhookEndpoint,
  ) {}

  @Post('/preview')
  @HttpCode(200)
  async preview(@Body() body: unknown): Promise<PreviewJson> {
    const { name, route: settings, payload, headers } = parseBody(previewBody, body);
    if (settings === undefined && name === undefined) {
      throw new Refusal(400, 'bad_body', 'give `route` (settings), or `name` (of a route that exists)');
    }
    const found =
      settings === undefined ? await this.#existing(name ?? '') : this.#made(name ?? PREVIEW_NAME, settings);
    if ('problems' in found) return unusable(found.problems);
    let previewed: PreviewedWebhook;
    try {
      previewed = previewWebhook(found.route, found.filters, sentWebhook(payload, headers));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { ...NOTHING, outcome: 'refused', reason: error.message };
    }
    return previewJson(found.route, previewed);
  }

  @Post('/:name/test')
  @HttpCode(200)
  async test(
    @Param('name') name: string,
    @Body() body: unknown,
    @Actor() actor: string,
  ): Promise<TestedJson> {
    const routeName = checkedName(name);
    const { payload, headers } = parseBody(testBody, body);
    await this.registry.catchUp();
    if (this.registry.get(routeName) === undefined && this.registry.apiRoute(routeName) === undefined) {
      throw unknownRoute(routeName);
    }
    const request = { routeName, ...sentWebhook(payload, headers), url: `/webhooks/${routeName}` };
    try {
      const answer = await this.webhooks.takeTest(request, actor);
      const { status, session_id: session, delivery_id: delivery, event, reason } = answer.body;
      const text = (value: unknown) => (typeof value === 'string' ? value : null);
      return {
        status: (text(status) ?? 'handshake') as TestedJson['status'],
        http_status: answer.status,
        session_id: text(session),
        delivery_id: text(delivery),
        event: text(event) ?? answer.event ?? null,
        reason: answer.why ?? text(reason),
        detail: answer.detail ?? null,
      };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const nothing = { session_id: null, delivery_id: null, event: null };
      return {
        status: 'refused',
        http_status: error.status,
        ...nothing,
        reason: error.code,
        detail: error.message,
      };
    }
  }

  /** @throws Refusal 404, 409 */
  async #existing(name: string): Promise<FoundRoute> {
    await this.registry.catchUp();
    const route = this.registry.get(name);
    if (route === undefined) throw this.registry.whyMissing(name) ?? unknownRoute(name);
    const inFile = this.config.current.routes[name];
    if (inFile !== undefined) return { route, filters: inFile.filters };
    const compiled = this.registry.apiRoute(name)?.compiled;
    return { route, filters: filtersOf(compiled?.usable === true ? compiled.effective : {}) };
  }

  /** @throws Refusal 400, 413 for what is beyond the bounds of any route */
  #made(
    name: string,
    settings: Readonly<Record<string, unknown>>,
  ): FoundRoute | { readonly problems: readonly ConfigProblem[] } {
    refuseBeyondBounds(settings);
    const problems: ConfigProblem[] = [];
    const { secret = PREVIEW_SECRET, ...definition } = literalApiRoute(settings, problems);
    if (problems.length > 0) return { problems };
    const tried = tryApiRoute(name, definition, [secret].flat() as string[], this.registry.context);
    return tried.usable ? { route: tried.route, filters: filtersOf(tried.effective) } : tried;
  }
}

function filtersOf({ filters = [] }: { readonly filters?: unknown }): readonly FilterConfig[] {
  return filters as readonly FilterConfig[];
}

const NOTHING: PreviewJson = {
  outcome: 'unusable',
  reason: null,
  problems: [],
  event: null,
  delivery_id: null,
  wants_event: null,
  filters: [],
  script: null,
  prompt: null,
  title: null,
  session_key: null,
  deliver: null,
  fallback_target: null,
  missing: [],
};

function unusable(problems: readonly ConfigProblem[]): PreviewJson {
  return { ...NOTHING, problems: problems.map(({ place, reason }) => ({ place, message: reason })) };
}

function previewJson(route: Route, previewed: PreviewedWebhook): PreviewJson {
  const { rendered, problems, ignoredFor, deliver, fallbackTarget } = previewed;
  const outcome = ignoredFor !== null ? 'ignored' : problems.length > 0 ? 'refused' : 'starts';
  return {
    outcome,
    reason: ignoredFor ?? problems[0]?.message ?? null,
    problems: problems.map((problem) => ({ ...problem })),
    event: previewed.event,
    delivery_id: previewed.delivery.id,
    wants_event: previewed.wantsEvent,
    filters: previewed.filters.map((filter) => ({ ...filter })),
    script: route.script === null ? null : 'not_run',
    prompt: rendered.input,
    title: rendered.title,
    session_key: rendered.key,
    deliver: targetJson(deliver),
    fallback_target: targetJson(fallbackTarget),
    missing: [...(rendered.missing?.placeholders ?? [])],
  };
}

function targetJson(target: DeliveryTarget | null): PreviewJson['deliver'] {
  return target === null ? null : { target: target.target, to: { ...target.to } };
}
