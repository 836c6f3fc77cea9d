import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/shell/shell-route.tsx';

export const SESSION_TABS = [
  'timeline',
  'transcript',
  'deliveries',
  'processes',
  'events',
  'related',
] as const;
export type SessionTab = (typeof SESSION_TABS)[number];

interface Search {
  /** The first one if left out. */
  readonly tab?: SessionTab;
  /** The selected step of the waterfall. */
  readonly step?: string;
  /** What the raw events are searched for. */
  readonly find?: string;
}

export const sessionRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/sessions/$id',
    validateSearch: (search: Record<string, unknown>): Search => {
      const tab = SESSION_TABS.find((name) => name === search.tab);
      return {
        ...(tab === undefined ? {} : { tab }),
        ...(typeof search.step === 'string' ? { step: search.step } : {}),
        ...(typeof search.find === 'string' ? { find: search.find } : {}),
      };
    },
    component: lazyRouteComponent(() => import('./session.view.tsx'), 'SessionView'),
  }),
] as const;
