import { useEffect, useId, useState } from 'react';

interface Props {
  readonly label: string;
  readonly value: string | undefined;
  readonly placeholder?: string;
  /** `/` goes here. */
  readonly search?: boolean;
  readonly onChange: (value: string | undefined) => void;
}

/** A text to filter by. It acts on Enter and when the field is left, so that no half-typed id is asked for. */
export function TextFilter({ label, value = '', placeholder, search = false, onChange }: Props) {
  const [text, setText] = useState(value);
  const id = useId();
  useEffect(() => void setText(value), [value]);
  const take = () => {
    if (text.trim() !== value) onChange(text.trim() === '' ? undefined : text.trim());
  };
  return (
    <div className="filter filter-text">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="field"
        type="search"
        autoComplete="off"
        spellCheck={false}
        placeholder={placeholder}
        data-search={search || undefined}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onBlur={take}
        onKeyDown={(event) => {
          if (event.key === 'Enter') take();
          if (event.key === 'Escape') event.currentTarget.blur();
        }}
      />
    </div>
  );
}
