import type { ReactNode } from 'react';
import { Button } from '../controls/button.tsx';
import './filters.css';

interface Props {
  readonly label: string;
  readonly children: ReactNode;
  /** Undefined: there is nothing to clear. */
  readonly clear?: (() => void) | undefined;
}

/** The filters above a list. */
export function FilterBar({ label, children, clear }: Props) {
  return (
    <search className="filter-bar" aria-label={label}>
      {children}
      {clear !== undefined && (
        <Button kind="quiet" onClick={clear}>
          Clear filters
        </Button>
      )}
    </search>
  );
}
