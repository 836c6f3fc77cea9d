import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/shell/shell-route.tsx';

export const systemRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/system',
    component: lazyRouteComponent(() => import('./system.view.tsx'), 'SystemView'),
  }),
] as const;
