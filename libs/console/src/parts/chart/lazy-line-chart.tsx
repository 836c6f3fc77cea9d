import { lazy, Suspense } from 'react';
import type { LineChartProps } from './line-chart.tsx';

const LineChart = lazy(() => import('./line-chart.tsx'));

/** A chart, and its figures as a table for people who cannot see it. */
export function LazyLineChart(props: LineChartProps) {
  return (
    <Suspense fallback={<div className="chart" />}>
      <LineChart {...props} />
    </Suspense>
  );
}
