import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { usePreferences } from '../../app/preferences/preferences.ts';
import { clockTime } from '../time/format-time.ts';
import { lonePoints } from './lone-points.ts';

export interface Series {
  readonly label: string;
  /** A colour token: `--ok-bar`. */
  readonly colour: string;
  /** Null: nothing was measured. */
  readonly values: readonly (number | null)[];
  readonly dashed?: boolean;
}

export interface LineChartProps {
  /** Says in a sentence what the chart shows, for people who do not see it. */
  readonly label: string;
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}

const HEIGHT = 180;

const DARK = matchMedia('(prefers-color-scheme: dark)');

function onScheme(listener: () => void): () => void {
  DARK.addEventListener('change', listener);
  return () => DARK.removeEventListener('change', listener);
}

/** Lines over time. uPlot draws on a canvas, so colours come from the tokens by script. Loaded when it is first shown. */
export default function LineChart({ label, times, series, format }: LineChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const { theme, zone } = usePreferences();
  const systemIsDark = useSyncExternalStore(onScheme, () => DARK.matches);
  const data = useMemo(
    () => [[...times], ...series.map(({ values }) => [...values])] as uPlot.AlignedData,
    [times, series],
  );
  const shape = series
    .map(({ label: name, colour, dashed }) => `${name} ${colour} ${dashed ?? false}`)
    .join();

  // biome-ignore lint/correctness/useExhaustiveDependencies: new data goes into the chart that is there (below).
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const style = getComputedStyle(element);
    // A token is a `light-dark()` pair. The browser resolves it where it is a colour.
    const colour = (token: string) => {
      element.style.color = `var(${token})`;
      const resolved = style.color;
      element.style.color = '';
      return resolved;
    };
    const axis = {
      stroke: colour('--muted'),
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { show: false },
    };
    const drawn = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: {
          live: true,
          markers: { dash: (self, index) => (self.series[index]?.dash === undefined ? 'solid' : 'dotted') },
        },
        cursor: { y: false },
        scales: { y: { range: (_chart, _low, high) => [0, Math.max(1, (high ?? 0) * 1.1)] } },
        axes: [
          {
            ...axis,
            font: '11px system-ui',
            size: 28,
            values: (_chart, ticks) => ticks.map((tick) => clockTime(tick * 1_000, zone).slice(0, 5)),
          },
          {
            ...axis,
            font: '11px system-ui',
            size: 56,
            values: (_chart, ticks) => ticks.map((tick) => format(tick)),
          },
        ],
        series: [
          {
            label: 'Time',
            value: (_chart: uPlot, at: number | null) =>
              at === null ? '' : clockTime(at * 1_000, zone).slice(0, 5),
          },
          ...series.map((one) => ({
            label: one.label,
            stroke: colour(one.colour),
            width: 1.5,
            // uPlot draws no points where they are dense, so a minute between two without a figure would not be seen at all.
            points: {
              size: 5,
              fill: colour(one.colour),
              show: false,
              filter: (self: uPlot, index: number) => lonePoints([...(self.data[index] ?? [])]),
            },
            ...(one.dashed === true ? { dash: [4, 4] } : {}),
            value: (_chart: uPlot, value: number | null) => (value === null ? '' : format(value)),
          })),
        ],
      },
      data,
      element,
    );
    chart.current = drawn;
    const resized = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      drawn.destroy();
      chart.current = null;
    };
  }, [shape, theme, systemIsDark, zone]);

  useEffect(() => void chart.current?.setData(data), [data]);

  return <div ref={host} className="chart" role="img" aria-label={label} />;
}
