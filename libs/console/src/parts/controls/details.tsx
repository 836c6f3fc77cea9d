import { type ReactNode, useState } from 'react';

/** Something to open. What is inside is made only then: it may be large. */
export function Details(props: {
  readonly summary: ReactNode;
  readonly className?: string;
  readonly children: () => ReactNode;
}) {
  const [open, setOpen] = useState(false);
  return (
    <details className={props.className} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{props.summary}</summary>
      {open && props.children()}
    </details>
  );
}
