import type { Route } from '../../api/calls/route-calls.ts';
import type { Tone } from '../../parts/feedback/badge.tsx';
import { countText } from '../../parts/text/visible-text.ts';

export const ROUTE_STATES: Readonly<Record<Route['status'], { readonly tone: Tone; readonly name: string }>> =
  {
    active: { tone: 'ok', name: 'Active' },
    disabled: { tone: 'calm', name: 'Disabled' },
    unusable: { tone: 'bad', name: 'Unusable' },
  };

/** A count that may be a lower bound. */
export const atLeast = (count: number, exact: boolean): string =>
  exact ? countText(count) : `${countText(count)}+`;

/** Routes whose name, target or agent has the text. */
export function routesWith<R extends Pick<Route, 'name' | 'definition'>>(
  routes: readonly R[],
  text: string,
): readonly R[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return routes;
  return routes.filter(({ name, definition }) =>
    [name, definition.deliver, definition.agent].some(
      (value) => typeof value === 'string' && value.toLowerCase().includes(wanted),
    ),
  );
}
