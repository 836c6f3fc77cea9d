import { lazy, Suspense } from 'react';
import { Boundary } from '../feedback/boundary.tsx';
import type { LineChartProps } from './line-chart.tsx';

const LineChart = lazy(() => import('./line-chart.tsx'));

/** A chart, loaded when it is first shown. The figures are beside it as a table, so a chart that fails hides nothing. */
export function LazyLineChart(props: LineChartProps) {
  return (
    <Boundary
      instead={<p className="muted">This browser cannot draw the chart. The table has its figures.</p>}
    >
      <Suspense fallback={<div className="chart" />}>
        <LineChart {...props} />
      </Suspense>
    </Boundary>
  );
}
