import { Page } from '../../app/shell/page.tsx';

export function SessionsView() {
  return <Page title="Sessions">{null}</Page>;
}
