import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/shell/shell-route.tsx';

export const processRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/processes',
    component: lazyRouteComponent(() => import('./processes.view.tsx'), 'ProcessesView'),
  }),
] as const;
