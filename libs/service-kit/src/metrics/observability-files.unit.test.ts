import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { allMetrics } from './catalogue.ts';
import { withMetricsTable } from './docs-table.ts';
import { type AnyInstrument, labelInPrometheus } from './instruments.ts';

// Dashboards, alert rules and docs name only what services export. Otherwise a renamed metric, a label that it does not
// have, or an outcome that does not exist would be an empty panel or an alert that never fires.

const root = new URL('../../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

/** Labels that the scrape adds to every series. */
const TARGET_LABELS = ['job', 'instance'];
const WORDS = new Set(
  `sum max min avg count by without rate increase changes absent histogram_quantile vector time and or unless on
   label_values bool offset`.split(/\s+/),
);

interface Use {
  readonly metric: AnyInstrument | 'up';
  readonly matchers: readonly { label: string; operator: string; value: string }[];
  readonly suffix: string;
}

function metricOf(name: string): Pick<Use, 'metric' | 'suffix'> | null {
  if (name === 'up') return { metric: 'up', suffix: '' };
  for (const metric of allMetrics) {
    const suffixes = metric.kind === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    for (const suffix of suffixes) if (name === metric.definition.name + suffix) return { metric, suffix };
  }
  return null;
}

/** The problems of an expression. Not a parser of PromQL, but enough for these files. */
function problemsIn(expression: string): string[] {
  const problems: string[] = [];
  const uses: Use[] = [];
  const grouped: string[] = [];
  const bare = expression
    .replace(/\b(?:by|without|on) \(([^)]*)\)/g, (_, labels: string) => {
      grouped.push(...labels.split(',').map((label) => label.trim()));
      return '';
    })
    .replace(/\[[^\]]*\]/g, '')
    .replace(/([a-z_]+)(\{[^}]*\})?/g, (whole, name: string, braces = '') => {
      if (WORDS.has(name) && braces === '') return whole;
      const found = metricOf(name);
      if (found === null) problems.push(`there is no metric ${name}`);
      else uses.push({ ...found, matchers: matchersOf(braces) });
      return '';
    });
  if (bare.includes('{')) problems.push(`not understood: ${bare}`);
  for (const use of uses) problems.push(...matcherProblems(use));
  const known = new Set([...TARGET_LABELS, ...uses.flatMap(labelsOf)]);
  for (const label of grouped)
    if (!known.has(label)) problems.push(`none of its metrics has a label ${label}`);
  return problems;
}

function matchersOf(braces: string): Use['matchers'] {
  return [...braces.matchAll(/([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].map(
    ([, label = '', operator = '', value = '']) => ({ label, operator, value }),
  );
}

function labelsOf({ metric, suffix }: Use): string[] {
  if (metric === 'up') return [];
  const names = metric.labelNames.map(labelInPrometheus);
  return suffix === '_bucket' ? [...names, 'le'] : names;
}

function matcherProblems(use: Use): string[] {
  const { metric } = use;
  return use.matchers.flatMap(({ label, operator, value }) => {
    if (TARGET_LABELS.includes(label)) return [];
    if (metric === 'up' || !labelsOf(use).includes(label)) return [`there is no label ${label} here`];
    const name = metric.labelNames.find((one) => labelInPrometheus(one) === label) ?? label;
    const values: readonly string[] | null | undefined = metric.definition.labels[name]?.values;
    // A variable of the dashboard, or names that are not known in advance.
    if (value.includes('$') || values == null) return [];
    const named = operator.includes('~') ? value.split('|') : [value];
    return named.filter((one) => !values.includes(one)).map((one) => `${label} is never ${one}`);
  });
}

describe('the check itself', () => {
  it.each([
    ['rate(angelia_webhook_total[5m])', 'there is no metric angelia_webhook_total'],
    ['angelia_webhook_seconds', 'there is no metric angelia_webhook_seconds'],
    ['angelia_webhooks_total{path="x"}', 'there is no label path here'],
    ['angelia_webhooks_total{outcome="lost"}', 'outcome is never lost'],
    ['angelia_runs_total{outcome=~"lost|gone"}', 'outcome is never gone'],
    ['sum by (target) (angelia_runs_total)', 'none of its metrics has a label target'],
    ['summ(angelia_ready)', 'there is no metric summ'],
  ])('refuses %s', (expression, problem) => {
    expect(problemsIn(expression)).toEqual([problem]);
  });

  it('accepts correct expressions', () => {
    const expression =
      'histogram_quantile(0.9, sum by (route, le) (rate(angelia_time_to_final_seconds_bucket{route=~"$route"}[5m])))';
    expect(problemsIn(expression)).toEqual([]);
  });
});

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const rules = (
  parse(read('deploy/observability/alerts.yml')) as { groups: { rules: Rule[] }[] }
).groups.flatMap((group) => group.rules);

describe('alert rules', () => {
  it.each(rules.map((rule) => [rule.alert, rule] as const))('%s can fire and says what to do', (_, rule) => {
    expect(problemsIn(rule.expr)).toEqual([]);
    expect(['page', 'ticket']).toContain(rule.labels.severity);
    const { summary = '', action = '', runbook = '' } = rule.annotations;
    expect(action.length).toBeGreaterThan(20);
    expect(runbook).toMatch(/^docs\/operate\.md#[a-z-]+$/);
    // A label in the text would be empty if the expression sums it away.
    const kept = [
      ...TARGET_LABELS,
      ...[...rule.expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, by = '']) => by.split(/,\s*/)),
    ];
    const plain = !/\b(sum|max)\b/.test(rule.expr);
    for (const [, label = ''] of summary.matchAll(/\$labels\.([a-z_]+)/g))
      expect(plain || kept.includes(label) ? [] : [label]).toEqual([]);
  });

  it('do not page for one failure on a quiet system: a share also needs a number, and a rate above 0 lasts longer than its window', () => {
    const pages = rules.filter(({ labels }) => labels.severity === 'page');
    const shares = pages.filter(({ expr }) => / \/ /.test(expr));
    expect(shares.map(({ alert, expr }) => [alert, /and sum by .* > \d+$/.test(expr)])).toEqual([
      ['AngeliaSessionsFailing', true],
      ['AngeliaModelFailing', true],
    ]);
    const rates = pages.flatMap(({ alert, expr, for: lasting = '0m' }) => {
      const window = /^sum\(rate\(.*\[(\d+)m\]\)\) > 0$/.exec(expr)?.[1];
      return window === undefined ? [] : [[alert, Number.parseInt(lasting, 10) > Number(window)]];
    });
    expect(rates).toEqual([['AngeliaWebhooksNotTaken', true]]);
  });

  it('notice each service that is missing', () => {
    const missing = rules.find(({ alert }) => alert === 'AngeliaServiceMissing')?.expr ?? '';
    const jobs = [...missing.matchAll(/absent\(up\{job="([a-z-]+)"\}\)/g)].map(([, job]) => job);
    const { scrape_configs: scraped } = parse(read('deploy/observability/prometheus.yml')) as {
      scrape_configs: { job_name: string }[];
    };
    expect(jobs).toEqual(scraped.map(({ job_name: job }) => job));
  });

  it('have unique names', () => {
    const names = rules.map(({ alert }) => alert);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(15);
  });
});

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}
interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly definition: string }[] };
}

const folder = 'deploy/observability/grafana/dashboards';
const dashboards = readdirSync(new URL(folder, root)).map(
  (file) => [file, JSON.parse(read(`${folder}/${file}`)) as Dashboard] as const,
);

describe('dashboards', () => {
  it.each(dashboards)('%s asks only for metrics that exist', (file, { uid, panels, templating }) => {
    expect(file).toBe(`${uid}.json`);
    const asking = panels.filter(({ type }) => type !== 'row');
    const wrong = asking.flatMap(({ title, targets = [], datasource }) => [
      ...(targets.length === 0 ? [`${title}: asks for nothing`] : []),
      ...(datasource?.uid === 'prometheus' ? [] : [`${title}: datasource`]),
      ...targets.flatMap(({ expr }) => problemsIn(expr).map((problem) => `${title}: ${problem}`)),
    ]);
    expect(wrong).toEqual([]);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { definition } of templating.list)
      expect(problemsIn(definition.replace(/, ([a-z_]+)\)$/, ')'))).toEqual([]);
  });

  it('show every metric of ours', () => {
    const shown = JSON.stringify(dashboards);
    const unseen = allMetrics
      .map(({ definition }) => definition.name)
      .filter((name) => !shown.includes(name));
    expect(unseen).toEqual([]);
  });
});

describe('the rest of deploy/observability', () => {
  it('scrapes the admin port of each replica of each service in the Compose file', () => {
    const config = parse(read('deploy/observability/prometheus.yml')) as {
      rule_files: string[];
      scrape_configs: { job_name: string; dns_sd_configs: object[] }[];
    };
    expect(config.rule_files).toEqual(['alerts.yml']);
    const compose = parse(read('docker-compose.yml')) as { services: Record<string, unknown> };
    for (const { job_name: job, dns_sd_configs } of config.scrape_configs) {
      expect(Object.keys(compose.services)).toContain(job);
      expect(dns_sd_configs).toEqual([expect.objectContaining({ names: [job], type: 'A', port: 9464 })]);
    }
    expect(config.scrape_configs).toHaveLength(4);
  });

  it('keeps errors in the collector, and names parts that it defines', () => {
    interface Collector {
      receivers: object;
      processors: { tail_sampling: { policies: { name: string; type: string }[] } };
      exporters: object;
      service: {
        pipelines: Record<string, { receivers: string[]; processors: string[]; exporters: string[] }>;
      };
    }
    const config = parse(read('deploy/observability/collector.yaml')) as Collector;
    expect(config.processors.tail_sampling.policies.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['status_code', 'latency', 'probabilistic']),
    );
    for (const pipeline of Object.values(config.service.pipelines)) {
      expect(Object.keys(config.receivers)).toEqual(expect.arrayContaining(pipeline.receivers));
      expect(Object.keys(config.processors)).toEqual(expect.arrayContaining(pipeline.processors));
      expect(Object.keys(config.exporters)).toEqual(expect.arrayContaining(pipeline.exporters));
    }
  });
});

it('docs/observe.md has the table of metrics of the catalogue', () => {
  const page = read('docs/observe.md');
  // The formatter pads the columns.
  const plain = (text: string) => text.replaceAll(/ {2,}/g, ' ').replaceAll(/-{3,}/g, '---');
  expect(plain(page)).toBe(plain(withMetricsTable(page, allMetrics)));
  const alerts = rules.map(({ alert }) => alert).filter((alert) => !page.includes(`\`${alert}\``));
  expect(alerts).toEqual([]);
});
