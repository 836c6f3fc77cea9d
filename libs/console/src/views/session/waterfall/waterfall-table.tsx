import { useState } from 'react';
import { Button } from '../../../parts/controls/button.tsx';
import { visibleText } from '../../../parts/text/visible-text.ts';
import { Time, Took } from '../../../parts/time/time.tsx';
import type { Step } from './step.ts';

const PAGE = 200;

/** The same steps as a table, for screen readers and for whoever prefers to read. */
export function WaterfallTable(props: {
  readonly steps: readonly Step[];
  readonly onSelect: (id: string) => void;
}) {
  const [most, setMost] = useState(PAGE);
  const { steps, onSelect } = props;
  return (
    <div className="table-scroll">
      <table className="table">
        <caption className="hidden-text">Steps of the session, in the order in which they began</caption>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">State</th>
            <th scope="col">Began</th>
            <th scope="col">Took</th>
            <th scope="col">Note</th>
          </tr>
        </thead>
        <tbody>
          {steps.slice(0, most).map((step) => (
            <tr key={step.id}>
              <th scope="row" className={step.depth > 0 ? 'table-part' : ''}>
                <button
                  id={`step-${step.id}`}
                  type="button"
                  className="link-button"
                  onClick={() => onSelect(step.id)}
                >
                  <bdi>{visibleText(step.label)}</bdi>
                </button>
              </th>
              <td>{step.state}</td>
              <td>
                <Time at={step.from} exact />
              </td>
              <td>
                <Took from={step.from} until={step.until} />
              </td>
              <td>
                <bdi className="untrusted">{visibleText(step.note)}</bdi>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {steps.length > most && (
        <Button onClick={() => setMost(most + PAGE)}>
          Show {Math.min(PAGE, steps.length - most)} more of {steps.length - most}
        </Button>
      )}
    </div>
  );
}
