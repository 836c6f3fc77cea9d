import { Page } from '../../app/shell/page.tsx';

export function WebhooksView() {
  return <Page title="Webhooks">{null}</Page>;
}
