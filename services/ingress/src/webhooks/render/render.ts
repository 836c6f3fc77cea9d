import type { DeliveryTarget } from '@angelia/contracts';
import { storable } from '@angelia/event-log';
import { markOf } from '@angelia/session';
import type { Route } from '../compile-route.ts';
import { jsonBlock } from '../payload/json-block.ts';
import { type Quote, RAW_LIMIT, type TemplateValues } from '../payload/template.ts';
import { truncate } from '../payload/truncate.ts';
import { keyOf } from './session-key.ts';
import { titleFromPrompt } from './title.ts';
import { untrusted } from './untrusted.ts';

export interface Rendered {
  /** As the first turn of a session of its own. */
  readonly input: string;
  /** Of that session; null where nothing is fenced. */
  readonly fenceSeed: string | null;
  /** As a turn of another session, which has marks of its own. */
  inputWith(mark: string): string;
  readonly title: string;
  /** Reading these two throws Refusal 400 where the payload does not make an address. */
  readonly deliver: DeliveryTarget;
  readonly fallbackTarget: DeliveryTarget | null;
  /** Of a route with `coalesce` or `session_key`; null where the payload lacks a part of it. */
  readonly key: string | null;
}

/** A title is one line in a list. */
const LONGEST_TITLE = 200;

/** Step 4: what the agent is told, what the session is called, and where its answer goes. */
export function render(
  route: Route,
  values: TemplateValues,
  /** Random (newFenceSeed): what makes the fences around the payload's values such that no payload can close them. */
  fenceSeed: string,
): Rendered {
  const inputWith = (mark: string) => storable(inputOf(route, values, mark));
  const input = inputWith(markOf(fenceSeed, 1));
  return {
    input,
    fenceSeed: route.deliverOnly ? null : fenceSeed,
    inputWith,
    title: titleOf(route, values, input),
    // Asked for only where a session is opened: a webhook that joins one has no say in where its answers go, and need
    // not make an address.
    get deliver() {
      return route.deliver(values);
    },
    get fallbackTarget() {
      return route.fallbackTarget === null ? null : route.fallbackTarget(values);
    },
    key: route.keying === null ? null : keyOf(route.keying, values),
  };
}

/** Fences are for models: who gets a message of a `deliver_only` route is a person or a program. */
function inputOf(route: Route, values: TemplateValues, mark: string): string {
  const quote: Quote = route.deliverOnly ? (value) => value : untrusted(mark, route.prompt?.lone ?? false);
  if (route.prompt === null) {
    // As Hermes does for a route with an empty prompt.
    const event = quote(values.event ?? 'unknown', 'text');
    return `Webhook event '${event}' on route '${route.name}':\n\n${quote(jsonBlock(values.payload, RAW_LIMIT), 'block')}`;
  }
  return route.prompt.render(values, quote);
}

/** The route's template; else the prompt's first words; else (a bare payload) route and event. */
function titleOf(route: Route, values: TemplateValues, input: string): string {
  const made =
    route.title === null
      ? route.prompt && titleFromPrompt(input)
      : truncate(storable(route.title.render(values)).replace(/\s+/g, ' ').trim(), LONGEST_TITLE);
  return made || (values.event === null ? route.name : `${route.name}: ${values.event}`);
}
