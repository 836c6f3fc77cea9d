import type { ReactNode } from 'react';

/** Text as it is, in a box that scrolls, also by the keyboard. No landmark: a transcript has hundreds of the same name. */
export function ScrollBox({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it.
    <div role="group" className="scroll-box" aria-label={label} tabIndex={0}>
      <pre dir="auto" className="untrusted">
        {children}
      </pre>
    </div>
  );
}
