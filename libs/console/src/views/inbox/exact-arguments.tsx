import type { OpenApproval } from '../../api/calls/approval-calls.ts';
import { Button } from '../../parts/controls/button.tsx';
import { beginning, bytesText } from '../../parts/text/visible-text.ts';

/**
 * A browser takes seconds to lay out a megabyte. So all of it is shown only on request, and whoever approves must request it
 * first.
 */
const SHOWN_AT_FIRST = 5_000;

type Shown = OpenApproval['shown'];

const lengthOf = ({ command, others }: Shown): number => (command?.length ?? 0) + (others?.length ?? 0);

export const isLong = (shown: Shown): boolean => lengthOf(shown) > SHOWN_AT_FIRST;

/** The arguments of a call, with characters that hide as codes, and every character in the order in which it runs. */
export function ExactArguments(props: {
  readonly shown: Shown;
  /** Not only their beginning. */
  readonly whole: boolean;
  readonly onWhole: () => void;
}) {
  const { shown, whole, onWhole } = props;
  return (
    <div className="exact-arguments">
      {shown.command !== null && <Exact label="Command" text={shown.command} whole={whole} />}
      {shown.others !== null && (
        <Exact
          label={shown.command === null ? 'Arguments' : 'Other arguments'}
          text={shown.others}
          whole={whole}
        />
      )}
      {!whole && <Button onClick={onWhole}>Show all of it ({bytesText(lengthOf(shown))})</Button>}
    </div>
  );
}

function Exact(props: { readonly label: string; readonly text: string; readonly whole: boolean }) {
  const { label, text, whole } = props;
  const shown = whole ? text : beginning(text, SHOWN_AT_FIRST);
  return (
    <figure>
      <figcaption className="muted">{label}</figcaption>
      <pre>
        {/* Letters of a script that is written from the right would turn the rest of a command around. */}
        <bdo dir="ltr">{shown}</bdo>
        {shown.length < text.length && '…'}
      </pre>
    </figure>
  );
}
