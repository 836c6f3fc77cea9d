import { Page } from '../../app/shell/page.tsx';

export function RoutesView() {
  return <Page title="Routes">{null}</Page>;
}
