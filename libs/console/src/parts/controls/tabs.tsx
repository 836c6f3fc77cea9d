import { type ReactNode, useEffect, useId, useRef } from 'react';

export interface Tab<Name extends string> {
  readonly name: Name;
  readonly label: string;
  /** How many things are behind it. */
  readonly count?: number;
}

interface Props<Name extends string> {
  readonly label: string;
  readonly tabs: readonly Tab<Name>[];
  readonly current: Name;
  readonly onChange: (name: Name) => void;
  readonly children: ReactNode;
}

/** Tabs and the panel of the current one. Arrow keys go from tab to tab. */
export function Tabs<Name extends string>({ label, tabs, current, onChange, children }: Props<Name>) {
  const id = useId();
  const selected = useRef<HTMLButtonElement>(null);
  // On a phone not all tabs are in sight.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows the current tab.
  useEffect(() => void selected.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' }), [current]);
  const move = (by: number) => {
    const index = tabs.findIndex(({ name }) => name === current);
    const next = tabs[(index + by + tabs.length) % tabs.length];
    if (next === undefined) return;
    onChange(next.name);
    document.getElementById(`${id}-${next.name}`)?.focus();
  };
  return (
    <div className="tabbed">
      <div
        className="tabs"
        role="tablist"
        aria-label={label}
        onKeyDown={({ key }) => {
          if (key === 'ArrowRight') move(1);
          else if (key === 'ArrowLeft') move(-1);
        }}
      >
        {tabs.map(({ name, label: text, count }) => (
          <button
            key={name}
            id={`${id}-${name}`}
            ref={name === current ? selected : undefined}
            type="button"
            role="tab"
            className="tab"
            aria-selected={name === current}
            aria-controls={`${id}-panel`}
            tabIndex={name === current ? 0 : -1}
            onClick={() => onChange(name)}
          >
            {text}
            {count !== undefined && count > 0 && <span className="tab-count">{count}</span>}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${current}`} className="tab-panel">
        {children}
      </div>
    </div>
  );
}
