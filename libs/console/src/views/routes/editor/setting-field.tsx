import { type ReactNode, useId } from 'react';
import { LazyCodeEditor } from '../../../parts/code/lazy-code-editor.tsx';
import type { Problem } from '../../../parts/json-schema/check-value.ts';
import { Untrusted } from '../../../parts/text/text.tsx';
import type { Field } from './route-fields.ts';

interface Props {
  readonly field: Field;
  readonly text: string;
  readonly problems: readonly Problem[];
  readonly onChange: (text: string) => void;
}

/** One setting of a route, with what is wrong with it. */
export function SettingField({ field, text, problems, onChange }: Props) {
  const id = useId();
  const { key, kind, fallback, hint } = field;
  const wrong = problems.length > 0;
  const common = {
    id,
    'aria-invalid': wrong,
    'aria-describedby': `${id}-hint${wrong ? ` ${id}-wrong` : ''}`,
  };
  const placeholder = fallback.includes('\n') ? '' : fallback;
  if (kind === 'flag')
    return (
      <div className="setting">
        <label className="check">
          <input
            {...common}
            type="checkbox"
            checked={(text === '' ? fallback : text) === 'true'}
            onChange={(event) => onChange(String(event.target.checked))}
          />
          <code>{key}</code>
        </label>
        <Notes id={id} hint={hint} problems={problems} />
      </div>
    );
  const control = ((): ReactNode => {
    switch (kind) {
      case 'template':
      case 'json':
        return (
          <LazyCodeEditor
            label={key}
            value={text}
            language={kind === 'json' ? 'json' : 'text'}
            minHeight={key === 'prompt' ? 160 : 64}
            onChange={onChange}
          />
        );
      case 'choice':
        return (
          <select
            {...common}
            className="field"
            value={text}
            onChange={(event) => onChange(event.target.value)}
          >
            <option value="">{fallback === '' ? '' : `${fallback} (default)`}</option>
            {field.options.map((option) => (
              <option key={option} value={option}>
                {option}
              </option>
            ))}
          </select>
        );
      case 'lines':
        return (
          <textarea
            {...common}
            className="field mono"
            rows={2}
            spellCheck={false}
            value={text}
            onChange={(event) => onChange(event.target.value)}
          />
        );
      default:
        return (
          <>
            <input
              {...common}
              className="field mono"
              type={kind === 'secret' ? 'password' : 'text'}
              inputMode={kind === 'number' ? 'decimal' : undefined}
              autoComplete={kind === 'secret' ? 'new-password' : 'off'}
              spellCheck={false}
              list={field.options.length > 0 ? `${id}-options` : undefined}
              placeholder={placeholder}
              value={text}
              onChange={(event) => onChange(event.target.value)}
            />
            {field.options.length > 0 && (
              <datalist id={`${id}-options`}>
                {field.options.map((option) => (
                  <option key={option} value={option} />
                ))}
              </datalist>
            )}
          </>
        );
    }
  })();
  const edited = kind === 'template' || kind === 'json';
  return (
    <div className="setting">
      {edited ? (
        // The editor has its name by itself: a label cannot point into its shadow root.
        <span className="setting-name" aria-hidden="true">
          <code>{key}</code>
        </span>
      ) : (
        <label htmlFor={id}>
          <code>{key}</code>
        </label>
      )}
      {control}
      <Notes
        id={id}
        hint={edited && placeholder !== '' && text === '' ? `${hint} Default: ${placeholder}` : hint}
        problems={problems}
      />
    </div>
  );
}

function Notes({
  id,
  hint,
  problems,
}: {
  readonly id: string;
  readonly hint: string;
  readonly problems: readonly Problem[];
}) {
  return (
    <>
      <p id={`${id}-hint`} className="muted setting-hint">
        {hint}
      </p>
      {problems.length > 0 && (
        <ul id={`${id}-wrong`} className="form-error">
          {problems.map(({ place, message }) => (
            <li key={`${place} ${message}`}>
              <Untrusted text={`${place} ${message}`} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
