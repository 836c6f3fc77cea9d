import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/shell/shell-route.tsx';
import { searchFromUrl } from './filters/session-filters.ts';

export const sessionsRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/sessions',
    validateSearch: searchFromUrl,
    component: lazyRouteComponent(() => import('./sessions.view.tsx'), 'SessionsView'),
  }),
] as const;
