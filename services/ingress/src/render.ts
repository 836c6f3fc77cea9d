import type { DeliveryTarget } from '@angelia/contracts';
import { storable } from '@angelia/event-log';
import { jsonBlock } from './json-block.ts';
import type { Route } from './route-table.ts';
import { RAW_LIMIT, type TemplateValues } from './template.ts';
import { truncate } from './truncate.ts';
import { markUntrusted } from './untrusted.ts';

export interface Rendered {
  readonly input: string;
  readonly title: string;
  readonly deliver: DeliveryTarget;
  readonly fallbackTarget: DeliveryTarget | null;
}

/** A title is one line in a list. */
const LONGEST_TITLE = 200;

/** Step 4: what the agent is told, what the session is called, and where its answer goes. */
export function render(route: Route, values: TemplateValues): Rendered {
  return {
    input: storable(inputOf(route, values)),
    title: titleOf(route, values),
    deliver: route.deliver(values),
    fallbackTarget: route.fallbackTarget === null ? null : route.fallbackTarget(values),
  };
}

function inputOf(route: Route, values: TemplateValues): string {
  if (route.prompt === null) {
    // As Hermes does for a route with an empty prompt.
    const event = values.event ?? 'unknown';
    return `Webhook event '${event}' on route '${route.name}':\n\n${markUntrusted(jsonBlock(values.payload, RAW_LIMIT), 'block')}`;
  }
  return route.prompt.render(values, markUntrusted);
}

function titleOf(route: Route, values: TemplateValues): string {
  if (route.title === null) return values.event === null ? route.name : `${route.name}: ${values.event}`;
  return truncate(storable(route.title.render(values)).replace(/\s+/g, ' ').trim(), LONGEST_TITLE);
}
