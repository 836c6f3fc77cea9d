import { Page } from '../../app/shell/page.tsx';

export function ProcessesView() {
  return <Page title="Processes">{null}</Page>;
}
