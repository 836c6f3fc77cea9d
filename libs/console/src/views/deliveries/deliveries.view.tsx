import { Page } from '../../app/shell/page.tsx';

export function DeliveriesView() {
  return <Page title="Deliveries">{null}</Page>;
}
