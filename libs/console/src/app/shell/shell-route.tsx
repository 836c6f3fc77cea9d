import { createRootRoute, createRoute, Outlet, redirect } from '@tanstack/react-router';
import { findSession } from '../../api/session.ts';
import { Failed } from '../../parts/feedback/states.tsx';
import { Toasts } from '../../parts/feedback/toasts.tsx';
import { Shell } from './shell.tsx';

export const rootRoute = createRootRoute({
  component: () => (
    <>
      <Outlet />
      <Toasts />
    </>
  ),
});

/** The parent of every view. Whoever is not signed in goes to the sign-in page and comes back. */
export const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'shell',
  beforeLoad: async ({ location }) => {
    if ((await findSession()) === null) throw redirect({ to: '/sign-in', search: { next: location.href } });
  },
  component: Shell,
  errorComponent: ({ error, reset }) => (
    <div className="page">
      <Failed error={error} retry={reset} />
    </div>
  ),
});
