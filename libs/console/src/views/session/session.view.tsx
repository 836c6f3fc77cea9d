import { Page } from '../../app/shell/page.tsx';

export function SessionView() {
  return <Page title="Session">{null}</Page>;
}
