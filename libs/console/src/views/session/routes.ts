import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/shell/shell-route.tsx';

export const sessionRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/sessions/$id',
    component: lazyRouteComponent(() => import('./session.view.tsx'), 'SessionView'),
  }),
] as const;
