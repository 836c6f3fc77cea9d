import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/shell/shell-route.tsx';

export const routeRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/routes',
    component: lazyRouteComponent(() => import('./routes.view.tsx'), 'RoutesView'),
  }),
] as const;
