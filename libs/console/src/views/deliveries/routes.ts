import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/shell/shell-route.tsx';

export const deliveryRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/deliveries',
    component: lazyRouteComponent(() => import('./deliveries.view.tsx'), 'DeliveriesView'),
  }),
] as const;
