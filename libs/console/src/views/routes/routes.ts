import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/shell/shell-route.tsx';

export const routeRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/routes',
    component: lazyRouteComponent(() => import('./routes.view.tsx'), 'RoutesView'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/routes/$name',
    component: lazyRouteComponent(() => import('./route.view.tsx'), 'RouteView'),
  }),
  // Not /routes/new: a route may have that name.
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/new-route',
    component: lazyRouteComponent(() => import('./new-route.view.tsx'), 'NewRouteView'),
  }),
] as const;
