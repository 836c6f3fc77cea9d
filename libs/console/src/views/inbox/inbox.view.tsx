import { Page } from '../../app/shell/page.tsx';

export function InboxView() {
  return <Page title="Inbox">{null}</Page>;
}
