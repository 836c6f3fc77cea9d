import { useState } from 'react';
import { CopyButton } from '../controls/copy-button.tsx';
import { Icon } from '../controls/icon.tsx';
import { beginning, bytesText, visibleText } from '../text/visible-text.ts';

interface Props {
  readonly value: unknown;
  readonly label: string;
  /** How many levels are open at first. */
  readonly open?: number;
}

/** Children beyond this come by a click: a list of 10,000 items must not be drawn at once. */
const STEP = 100;
const SHOWN_OF_TEXT = 500;

/** A value as a tree. What is shut is not drawn. */
export function JsonView({ value, label, open = 2 }: Props) {
  return (
    <section className="json" aria-label={label}>
      <div className="json-copy">
        <CopyButton text={() => JSON.stringify(value, null, 2) ?? 'undefined'} of={`${label} as JSON`} />
      </div>
      <JsonNode name={null} value={value} open={open} />
    </section>
  );
}

interface NodeProps {
  readonly name: string | null;
  readonly value: unknown;
  readonly open: number;
}

function JsonNode({ name, value, open }: NodeProps) {
  if (typeof value === 'object' && value !== null) return <Container name={name} value={value} open={open} />;
  return (
    <div className="json-row">
      <Name name={name} />
      <Scalar value={value} />
    </div>
  );
}

function Container({ name, value, open }: NodeProps & { readonly value: object }) {
  const [isOpen, setOpen] = useState(open > 0);
  const [most, setMost] = useState(STEP);
  const list = Array.isArray(value);
  const entries: readonly (readonly [string, unknown])[] = Object.entries(value);
  const summary = list ? `[${entries.length}]` : `{${entries.length}}`;
  if (entries.length === 0) {
    return (
      <div className="json-row">
        <Name name={name} />
        <span className="json-mark">{list ? '[]' : '{}'}</span>
      </div>
    );
  }
  return (
    <div className="json-container">
      <button type="button" className="json-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={isOpen ? 'shut' : 'open'} />
        <Name name={name} />
        <span className="json-mark">{summary}</span>
      </button>
      {isOpen && (
        <div className="json-children">
          {entries.slice(0, most).map(([key, child]) => (
            <JsonNode key={key} name={key} value={child} open={open - 1} />
          ))}
          {entries.length > most && (
            <button type="button" className="link-button" onClick={() => setMost(most + STEP)}>
              Show {Math.min(STEP, entries.length - most)} more of {entries.length - most}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function Name({ name }: { readonly name: string | null }) {
  if (name === null) return null;
  return (
    <span className="json-name">
      <bdi>{visibleText(beginning(name, 200))}</bdi>:
    </span>
  );
}

function Scalar({ value }: { readonly value: unknown }) {
  const [whole, setWhole] = useState(false);
  if (typeof value !== 'string') return <span className="json-scalar">{String(value)}</span>;
  const shown = whole ? value : beginning(value, SHOWN_OF_TEXT);
  return (
    <span className="json-text">
      <bdi dir="auto" className="untrusted">
        {visibleText(shown)}
      </bdi>
      {shown.length < value.length && (
        <button type="button" className="link-button" onClick={() => setWhole(true)}>
          Show all ({bytesText(value.length)})
        </button>
      )}
    </span>
  );
}
