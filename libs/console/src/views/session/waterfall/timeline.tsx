import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import type { Session } from '../../../api/calls/session-calls.ts';
import { useHotkeys } from '../../../app/keyboard/use-hotkeys.ts';
import { Button } from '../../../parts/controls/button.tsx';
import { Empty, Failed, Loading } from '../../../parts/feedback/states.tsx';
import { useEvents } from '../use-session.ts';
import { buildWaterfall } from './build-waterfall.ts';
import { StepDetail } from './step-detail.tsx';
import type { Zoom } from './time-scale.ts';
import { focusStep, Waterfall } from './waterfall.tsx';
import { WaterfallTable } from './waterfall-table.tsx';

/** The waterfall, live, beside the details of the selected step. */
export function Timeline({ session }: { readonly session: Session }) {
  const { data: events, error, refetch } = useEvents(session.id);
  const { step: selectedId } = useSearch({ from: '/shell/sessions/$id' });
  const navigate = useNavigate();
  const [asTable, setAsTable] = useState(false);
  const [zoom, setZoom] = useState<Zoom | null>(null);
  const steps = useMemo(() => buildWaterfall(events ?? []), [events]);
  const selected = steps.find(({ id }) => id === selectedId) ?? null;
  const close = () => {
    if (selected === null) return false;
    void navigate({ to: '.', search: {}, replace: true, resetScroll: false });
    focusStep(selected.id);
    return true;
  };
  useHotkeys({ escape: close });
  if (events === undefined)
    return error === null ? (
      <Loading what="the events" />
    ) : (
      <Failed error={error} retry={() => void refetch()} />
    );
  if (steps.length === 0) return <Empty title="Nothing happened yet" />;
  const select = (id: string) =>
    void navigate({ to: '.', search: { step: id }, replace: true, resetScroll: false });
  return (
    <div className={`timeline ${selected === null ? '' : 'timeline-with-detail'}`}>
      <section className="panel timeline-panel" aria-label="What happened">
        <div className="timeline-bar">
          <h2>What happened</h2>
          <span>
            {zoom !== null && (
              <Button kind="quiet" onClick={() => setZoom(null)}>
                Show the whole time
              </Button>
            )}
            <Button kind="quiet" onClick={() => setAsTable(!asTable)}>
              {asTable ? 'Show as bars' : 'Show as a table'}
            </Button>
          </span>
        </div>
        {asTable ? (
          <WaterfallTable steps={steps} onSelect={select} />
        ) : (
          <Waterfall steps={steps} zoom={zoom} selected={selected?.id ?? null} onSelect={select} />
        )}
      </section>
      {selected !== null && <StepDetail step={selected} events={events} onZoom={setZoom} onClose={close} />}
    </div>
  );
}
