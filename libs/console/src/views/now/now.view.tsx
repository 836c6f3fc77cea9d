import { Page } from '../../app/shell/page.tsx';

export function NowView() {
  return <Page title="Now">{null}</Page>;
}
