import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef } from 'react';
import { useHotkeys } from '../../../app/keyboard/use-hotkeys.ts';
import { usePreferences } from '../../../app/preferences/preferences.ts';
import { Dot } from '../../../parts/feedback/badge.tsx';
import { visibleText } from '../../../parts/text/visible-text.ts';
import { clockTime, duration } from '../../../parts/time/format-time.ts';
import { useNow } from '../../../parts/time/now.ts';
import type { Step } from './step.ts';
import { stepsWithin, type TimeScale, timeScale, type Zoom } from './time-scale.ts';

const ROW = 28;

interface Props {
  readonly steps: readonly Step[];
  /** Only this part of the time; null: all of it. */
  readonly zoom: Zoom | null;
  readonly selected: string | null;
  readonly onSelect: (id: string) => void;
}

/** Steps as bars. Only rows in sight are drawn: a long session has thousands. */
export function Waterfall({ steps: all, zoom, selected, onSelect }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const underWay = all.some(({ until }) => until === null);
  const ticking = useNow();
  const now = underWay ? ticking : 0;
  const steps = useMemo(() => (zoom === null ? all : stepsWithin(all, zoom, now)), [all, zoom, now]);
  const scale = useMemo(() => timeScale(steps, now, zoom), [steps, now, zoom]);
  const keyOf = useCallback((index: number) => steps[index]?.id ?? index, [steps]);
  const rows = useVirtualizer({
    count: steps.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
    getItemKey: keyOf,
  });
  const current = steps.findIndex(({ id }) => id === selected);
  // An address may name a step that is far down.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page is opened.
  useEffect(() => {
    if (current !== -1) rows.scrollToIndex(current, { align: 'center' });
  }, []);
  const go = (to: number) => {
    const next = steps[Math.min(Math.max(to, 0), steps.length - 1)];
    if (next === undefined) return;
    rows.scrollToIndex(steps.indexOf(next));
    onSelect(next.id);
    requestAnimationFrame(() => focusStep(next.id));
  };
  useHotkeys({ j: () => go(current + 1), k: () => go(current - 1) });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') go(current + 1);
    else if (event.key === 'ArrowUp') go(current - 1);
    else if (event.key === 'Home') go(0);
    else if (event.key === 'End') go(steps.length - 1);
    else return;
    event.preventDefault();
  };
  return (
    <div className="waterfall">
      <Axis scale={scale} />
      <div ref={scroller} className="waterfall-scroll">
        {/* biome-ignore lint/a11y/useSemanticElements: rows are drawn only when they are in sight, at their place. */}
        <div
          role="grid"
          aria-label="Steps of the session"
          aria-rowcount={steps.length}
          tabIndex={-1}
          className="waterfall-rows"
          style={{ height: rows.getTotalSize() }}
          onKeyDown={onKeyDown}
        >
          {rows.getVirtualItems().map(({ index, start, key }) => {
            const step = steps[index];
            if (step === undefined) return null;
            return (
              <Row
                key={key}
                step={step}
                index={index}
                top={start}
                scale={scale}
                now={now}
                selected={step.id === selected}
                reachable={current === -1 ? index === 0 : index === current}
                onSelect={onSelect}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

export function focusStep(id: string): void {
  document.getElementById(`step-${id}`)?.focus();
}

interface RowProps {
  readonly step: Step;
  readonly index: number;
  readonly top: number;
  readonly scale: TimeScale;
  readonly now: number;
  readonly selected: boolean;
  readonly reachable: boolean;
  readonly onSelect: (id: string) => void;
}

function Row({ step, index, top, scale, now, selected, reachable, onSelect }: RowProps) {
  const until = step.until ?? Math.max(now, step.from);
  const left = scale.position(step.from);
  const width = scale.position(until) - left;
  const took = duration(until - step.from);
  const place = left + width <= 0.85 ? 'after' : left > 0.15 ? 'before' : 'inside';
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid has the keys.
    // biome-ignore lint/a11y/useSemanticElements: see the grid.
    <div
      id={`step-${step.id}`}
      role="row"
      aria-rowindex={index + 1}
      aria-selected={selected}
      tabIndex={reachable ? 0 : -1}
      className={`waterfall-row ${step.depth > 0 ? 'waterfall-part' : ''}`}
      style={{ top }}
      onClick={() => onSelect(step.id)}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: see the grid. */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: the row has the focus. */}
      <div role="gridcell" className={`waterfall-label text-${step.tone}`}>
        <Dot tone={step.tone} />
        <span className="cut">
          <bdi>{visibleText(step.label)}</bdi>
          {step.note !== '' && <bdi className="waterfall-note">{visibleText(step.note)}</bdi>}
        </span>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: see the grid. */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: the row has the focus. */}
      <div role="gridcell" className="waterfall-track">
        <span
          className={`bar bar-${step.kind} bar-tone-${step.tone} ${step.until === null ? 'bar-open' : ''}`}
          style={{ left: `${left * 100}%`, width: `max(3px, ${width * 100}%)` }}
          aria-hidden="true"
        />
        <span className={`bar-time bar-time-${place}`} style={timeStyle(place, left, left + width)}>
          {step.until === step.from ? '' : took}
          <span className="hidden-text">, {step.state}</span>
        </span>
      </div>
    </div>
  );
}

/** The duration stands after its bar, or before it, or in it if the bar is as wide as the line. */
function timeStyle(place: 'after' | 'before' | 'inside', left: number, right: number) {
  if (place === 'after') return { left: `${right * 100}%` };
  return { right: `${(1 - (place === 'before' ? left : right)) * 100}%` };
}

const TICKS = [0, 0.25, 0.5, 0.75, 1];

/** Times along the top. Where a wait is cut short, they jump. */
function Axis({ scale }: { readonly scale: TimeScale }) {
  const { zone } = usePreferences();
  const at = (share: number) => {
    let [low, high] = [scale.from, scale.until];
    for (let n = 0; n < 40; n += 1) {
      const middle = (low + high) / 2;
      if (scale.position(middle) < share) low = middle;
      else high = middle;
    }
    return high;
  };
  if (!Number.isFinite(scale.from)) return null;
  return (
    <div className="axis" aria-hidden="true">
      <div className="axis-label muted">{scale.gaps.length > 0 ? 'long waits are cut short' : ''}</div>
      <div className="axis-track">
        {TICKS.map((share) => (
          <span key={share} className="tick" style={{ left: `${share * 100}%` }}>
            {share === 0 ? clockTime(scale.from, zone) : `+${duration(at(share) - scale.from)}`}
          </span>
        ))}
        {scale.gaps.map((gap) => (
          <span
            key={gap.from}
            className="axis-gap"
            style={{
              left: `${scale.position(gap.from) * 100}%`,
              width: `${(scale.position(gap.until) - scale.position(gap.from)) * 100}%`,
            }}
          />
        ))}
      </div>
    </div>
  );
}
