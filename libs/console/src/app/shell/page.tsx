import type { ReactNode } from 'react';
import { beginning, visibleText } from '../../parts/text/visible-text.ts';
import { usePageTitle } from './page-title.ts';

interface Props {
  readonly title: string;
  /** Beside the title: buttons, a count. */
  readonly beside?: ReactNode;
  readonly children: ReactNode;
  /** The view fills the window and scrolls inside. */
  readonly fills?: boolean;
}

/** A view with its heading. */
export function Page({ title, beside, children, fills = false }: Props) {
  // Of an address, too: a link may name a route that is none.
  const shown = visibleText(beginning(title, 200));
  usePageTitle(shown);
  return (
    <div className={`page ${fills ? 'page-fills' : ''}`}>
      <header className="page-header">
        <h1>{shown}</h1>
        {beside}
      </header>
      {children}
    </div>
  );
}
