import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/shell/shell-route.tsx';

export const processRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/processes',
    component: lazyRouteComponent(() => import('./processes.view.tsx'), 'ProcessesView'),
  }),
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/processes/$id',
    component: lazyRouteComponent(() => import('./process.view.tsx'), 'ProcessView'),
  }),
] as const;
