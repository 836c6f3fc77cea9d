import { useEffect, useId, useState } from 'react';
import { usePreferences } from '../../app/preferences/preferences.ts';
import { exactTime } from '../time/format-time.ts';
import { MOMENT_FORM, momentOf } from './moment.ts';
import './filters.css';

interface Props {
  readonly label: string;
  /** As it is in the address; undefined: any time. */
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

/** A time to filter by, typed as people say it. */
export function MomentFilter({ label, value, onChange }: Props) {
  const { zone } = usePreferences();
  const shown = value === undefined ? '' : shownAs(value, zone);
  const [text, setText] = useState(shown);
  const [wrong, setWrong] = useState(false);
  const id = useId();
  useEffect(() => void setText(shown), [shown]);
  const take = () => {
    if (text === shown) return setWrong(false);
    const moment = text.trim() === '' ? undefined : momentOf(text, Date.now(), zone);
    setWrong(moment === null);
    if (moment !== null) onChange(moment);
  };
  return (
    <div className="filter">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="field filter-moment"
        type="text"
        placeholder="14:00 or 2h"
        autoComplete="off"
        spellCheck={false}
        value={text}
        aria-invalid={wrong}
        aria-describedby={wrong ? `${id}-wrong` : undefined}
        onChange={(event) => setText(event.target.value)}
        onBlur={take}
        onKeyDown={(event) => {
          if (event.key === 'Enter') take();
        }}
      />
      {wrong && (
        <p id={`${id}-wrong`} className="form-error" role="alert">
          {MOMENT_FORM}
        </p>
      )}
    </div>
  );
}

/** To the minute, without the zone: that is what a person types. */
const shownAs = (value: string, zone: 'local' | 'utc'): string =>
  /^\d+[mhd]$/.test(value) ? value : exactTime(Date.parse(value), zone).slice(0, 16);
