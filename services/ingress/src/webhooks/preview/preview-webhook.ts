import type { DeliveryTarget, FilterConfig } from '@angelia/contracts';
import { newFenceSeed } from '@angelia/sessions';
import { Refusal } from '../../http/refusal.ts';
import { type DeliveryId, deliveryIdOf } from '../admit/delivery-id.ts';
import { eventTypeOf, isNamed } from '../admit/event-type.ts';
import { type JudgedFilter, judgeFilters } from '../filter/compile-filters.ts';
import { headerReader } from '../payload/header-reader.ts';
import { readPayload } from '../payload/read-payload.ts';
import type { TemplateValues } from '../payload/template.ts';
import type { RenderTarget } from '../render/delivery-target.ts';
import { type Rendered, render } from '../render/render.ts';
import type { Route } from '../route.ts';
import { unwantedEvent } from '../take-webhook.ts';
import type { SentWebhook } from './sent-webhook.ts';

/** What a route would do with a webhook. */
export interface PreviewedWebhook {
  readonly event: string | null;
  readonly delivery: DeliveryId;
  readonly wantsEvent: boolean;
  readonly filters: readonly JudgedFilter[];
  readonly rendered: Rendered;
  /** Null: the payload gives no valid address. `problems` says why. */
  readonly deliver: DeliveryTarget | null;
  readonly fallbackTarget: DeliveryTarget | null;
  /** Why a sender would be answered with an error. */
  readonly problems: readonly { readonly place: string; readonly message: string }[];
  /** Why the webhook would be ignored; null: it would not. */
  readonly ignoredFor: string | null;
}

/**
 * The steps of a webhook without those that store something, run a program or check the sender. It goes on after a step
 * that says no, because whoever edits a template wants to see it rendered nevertheless.
 * @throws Refusal 400, 415 if the body is not a payload
 */
export function previewWebhook(
  route: Route,
  filters: readonly FilterConfig[],
  { headers, body }: SentWebhook,
): PreviewedWebhook {
  const payload = readPayload(headers, body);
  const event = eventTypeOf(headers, payload, null);
  const values: TemplateValues = { payload, event, header: headerReader(headers, undefined) };
  const wantsEvent = route.events.size === 0 || isNamed(route.events, event, payload);
  const judged = judgeFilters(filters, { payload, event, headers });
  // With `refuse` it would not be rendered. What is missing is told all the same.
  const onMissing = route.onMissing === 'refuse' ? 'keep' : route.onMissing;
  const rendered = render({ ...route, onMissing }, values, newFenceSeed());
  const problems: { place: string; message: string }[] = [];
  if (route.onMissing === 'refuse' && rendered.missing !== null) {
    const placeholders = rendered.missing.placeholders.join(', ');
    problems.push({
      place: 'on_missing',
      message: `the payload has no value for ${placeholders}, and this route refuses such webhooks`,
    });
  }
  const addressFrom = (target: RenderTarget | null, place: string): DeliveryTarget | null => {
    try {
      return target === null ? null : target(values);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      problems.push({ place, message: error.message });
      return null;
    }
  };
  return {
    event,
    delivery: deliveryIdOf({ headers, body }, route.deliveryId, values),
    wantsEvent,
    filters: judged,
    rendered,
    deliver: addressFrom(route.deliver, 'deliver_extra'),
    fallbackTarget: addressFrom(route.fallbackTarget, 'fallback_target.deliver_extra'),
    problems,
    ignoredFor: wantsEvent
      ? (judged.find(({ passes }) => !passes)?.detail ?? null)
      : unwantedEvent(route, event),
  };
}
