import { useId } from 'react';
import { visibleText } from '../text/visible-text.ts';

interface Props {
  readonly label: string;
  readonly value: string | undefined;
  readonly options: readonly (string | readonly [value: string, name: string])[];
  /** What no choice is called. */
  readonly any?: string;
  readonly onChange: (value: string | undefined) => void;
}

/** One of some values. A value that is only in the address is one of them, too. */
export function SelectFilter({ label, value, options, any = 'Any', onChange }: Props) {
  const id = useId();
  const pairs = options.map((option) => (typeof option === 'string' ? ([option, option] as const) : option));
  const known = value === undefined || pairs.some(([option]) => option === value);
  return (
    <div className="filter">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        className="field"
        value={value ?? ''}
        onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value)}
      >
        <option value="">{any}</option>
        {!known && <option value={value}>{visibleText(value ?? '')}</option>}
        {pairs.map(([option, name]) => (
          <option key={option} value={option}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}
