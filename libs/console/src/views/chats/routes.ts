import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { shellRoute } from '../../app/shell/shell-route.tsx';

export const chatRoutes = [
  createRoute({
    getParentRoute: () => shellRoute,
    path: '/chats',
    component: lazyRouteComponent(() => import('./chats.view.tsx'), 'ChatsView'),
  }),
] as const;
