import { readFileSync, writeFileSync } from 'node:fs';
import { allMetrics } from '../metrics/catalogue.ts';
import { withMetricsTable } from '../metrics/docs-table.ts';

// Run `node libs/service-kit/src/commands/write-metrics-table.ts` after a change of metrics/catalogue.ts.
const page = new URL('../../../../docs/observe.md', import.meta.url);
writeFileSync(page, withMetricsTable(readFileSync(page, 'utf8'), allMetrics));
