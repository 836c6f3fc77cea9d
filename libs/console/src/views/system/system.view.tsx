import { Page } from '../../app/shell/page.tsx';

export function SystemView() {
  return <Page title="System">{null}</Page>;
}
