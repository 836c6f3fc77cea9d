import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/shell/shell-route.tsx';

export const inboxRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/inbox',
    component: lazyRouteComponent(() => import('./inbox.view.tsx'), 'InboxView'),
  }),
] as const;
