import type { ReactNode } from 'react';
import './jobs.css';

/** A list in a dialog that scrolls when it is long, also by the keyboard. */
export function ScrollList({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it.
    <section className="scroll-list" aria-label={label} tabIndex={0}>
      <ul>{children}</ul>
    </section>
  );
}
