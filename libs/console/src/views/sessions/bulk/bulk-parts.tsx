import { visibleText } from '../../../parts/text/visible-text.ts';

export function Sure({
  sure,
  onChange,
}: {
  readonly sure: boolean;
  readonly onChange: (sure: boolean) => void;
}) {
  return (
    <label className="check">
      <input type="checkbox" checked={sure} onChange={(event) => onChange(event.target.checked)} />I want to
      delete them
    </label>
  );
}

export function Failures(props: {
  readonly failures: readonly { readonly id: string; readonly reason: string }[];
}) {
  if (props.failures.length === 0) return null;
  return (
    <ul className="bulk-sample">
      {props.failures.slice(0, 20).map(({ id, reason }) => (
        <li key={id}>
          <span className="mono">{id}</span> <bdi className="muted">{visibleText(reason)}</bdi>
        </li>
      ))}
    </ul>
  );
}
