import { createRoute, Link } from '@tanstack/react-router';
import { Empty } from '../parts/feedback/states.tsx';
import { Page } from './shell/page.tsx';
import { shellRoute } from './shell/shell-route.tsx';

/** Any other address. It is a view, so that the navigation is there. */
export const noSuchPageRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '$',
  component: () => (
    <Page title="There is no such page">
      <Empty title="The address may be cut off">
        The navigation leads to every view, for example to <Link to="/">Now</Link>.
      </Empty>
    </Page>
  ),
});
