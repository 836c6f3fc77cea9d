import { createRouter } from '@tanstack/react-router';
import { Failed, Loading } from '../parts/feedback/states.tsx';
import { chatRoutes } from '../views/chats/routes.ts';
import { deliveryRoutes } from '../views/deliveries/routes.ts';
import { inboxRoutes } from '../views/inbox/routes.ts';
import { nowRoutes } from '../views/now/routes.ts';
import { processRoutes } from '../views/processes/routes.ts';
import { routeRoutes } from '../views/routes/routes.ts';
import { sessionRoutes } from '../views/session/routes.ts';
import { sessionsRoutes } from '../views/sessions/routes.ts';
import { signInRoute } from '../views/sign-in/routes.ts';
import { systemRoutes } from '../views/system/routes.ts';
import { webhookRoutes } from '../views/webhooks/routes.ts';
import { noSuchPageRoute } from './no-such-page.tsx';
import { parseSearch, stringifySearch } from './search-params.ts';
import { rootRoute, shellRoute } from './shell/shell-route.tsx';

const routeTree = rootRoute.addChildren([
  signInRoute,
  shellRoute.addChildren([
    ...nowRoutes,
    ...sessionsRoutes,
    ...sessionRoutes,
    ...inboxRoutes,
    ...webhookRoutes,
    ...deliveryRoutes,
    ...routeRoutes,
    ...chatRoutes,
    ...processRoutes,
    ...systemRoutes,
    noSuchPageRoute,
  ]),
]);

export const router = createRouter({
  routeTree,
  basepath: '/console',
  parseSearch,
  stringifySearch,
  // A dialog that was opened for one session must not act on the one that "back" leads to.
  defaultRemountDeps: ({ params }) => params,
  // A view's code comes when a pointer is on its link.
  defaultPreload: 'intent',
  // Inside the shell: the navigation stays.
  defaultErrorComponent: ({ error, reset }) => (
    <div className="page">
      <h1>This view cannot be shown</h1>
      <Failed error={error} retry={reset} />
    </div>
  ),
  defaultPendingComponent: () => <Loading what="the view" />,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
