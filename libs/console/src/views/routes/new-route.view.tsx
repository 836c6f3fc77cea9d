import { Page } from '../../app/shell/page.tsx';
import { RouteEditor } from './editor/route-editor.tsx';
import './routes.css';

export function NewRouteView() {
  return (
    <Page title="New route">
      <RouteEditor route={null} />
    </Page>
  );
}
