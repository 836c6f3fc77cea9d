import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { api, ask, type Schema } from '../../api/client.ts';
import { useFeed } from '../../api/feed/use-feed.ts';
import { useThrottled } from '../../api/feed/use-throttled.ts';
import { Page } from '../../app/shell/page.tsx';
import { LazyLineChart } from '../../parts/chart/lazy-line-chart.tsx';
import { Details } from '../../parts/controls/details.tsx';
import { Dot, type Tone } from '../../parts/feedback/badge.tsx';
import { Failed, Loading } from '../../parts/feedback/states.tsx';
import { countText } from '../../parts/text/visible-text.ts';
import { duration } from '../../parts/time/format-time.ts';
import { Time } from '../../parts/time/time.tsx';
import { Health } from './health.tsx';
import { viewOf } from './list-link.ts';
import './now.css';

/** The gateway shares one answer for two seconds: asking more often brings nothing. */
const REFRESH_MS = 2_000;
/** Minutes pass also when nothing happens. */
const POLL_MS = 15_000;

/** What happens now, and in the last hour. Each number leads to the list behind it. */
export function NowView() {
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ['overview'],
    queryFn: ({ signal }) => ask(api.GET('/v1/overview', { signal })),
    refetchInterval: POLL_MS,
  });
  const refresh = useThrottled(() => void queries.invalidateQueries({ queryKey: ['overview'] }), REFRESH_MS);
  useFeed(() => refresh());
  return (
    <Page
      title="Now"
      beside={
        data !== undefined && (
          <span className="muted">
            as of <Time at={data.at} />
          </span>
        )
      }
    >
      {data !== undefined ? (
        <Overview overview={data} />
      ) : error === null ? (
        <Loading what="the overview" />
      ) : (
        <Failed error={error} retry={() => void refetch()} />
      )}
      <Health />
    </Page>
  );
}

function Overview({ overview }: { readonly overview: Schema['Overview'] }) {
  const { sessions, last_hour: hour, dead_letters } = overview;
  return (
    <>
      <section aria-labelledby="at-work" className="figures-group">
        <h2 id="at-work">At work</h2>
        <ul className="figures">
          <Figure name="Running" figure={sessions.running} tone="busy" />
          <Figure name="Queued" figure={sessions.queued} tone="calm" />
          <Figure name="Waiting for a person" figure={sessions.waiting_for.person} tone="wait" />
          <Figure name="Waiting for an approval" figure={sessions.waiting_for.approval} tone="wait" />
          <Figure name="Waiting for a model" figure={sessions.waiting_for.model} tone="wait" />
          <Figure name="Waiting for a process" figure={sessions.waiting_for.process} tone="calm" />
        </ul>
      </section>
      <section aria-labelledby="trouble" className="figures-group">
        <h2 id="trouble">Trouble in the last hour</h2>
        <ul className="figures">
          <Figure name="Failed sessions" figure={hour.failed} tone="bad" />
          <Figure name="Expired sessions" figure={hour.expired} tone="bad" />
          <Figure name="Dead deliveries" figure={hour.dead_deliveries} tone="bad" />
          <Figure name="Refused webhooks" figure={hour.refused_webhooks} tone="bad" />
          <Figure name="Dead letters, all" figure={dead_letters} tone="bad" />
        </ul>
      </section>
      <Charts minutes={overview.minutes} exact={overview.minutes_exact} />
    </>
  );
}

function Figure(props: { readonly name: string; readonly figure: Schema['Figure']; readonly tone: Tone }) {
  const { name, figure, tone } = props;
  return (
    <li>
      <Link to={viewOf(figure.list)} className={`figure ${figure.count > 0 ? `figure-${tone}` : ''}`}>
        <span className="figure-count">
          {countText(figure.count)}
          {!figure.exact && <abbr title="at least">+</abbr>}
        </span>
        <span className="figure-name">
          {figure.count > 0 && <Dot tone={tone} />}
          {name}
        </span>
      </Link>
    </li>
  );
}

function Charts(props: { readonly minutes: readonly Schema['OverviewMinute'][]; readonly exact: boolean }) {
  const { minutes, exact } = props;
  const charts = useMemo(() => {
    const pick = (of: (minute: Schema['OverviewMinute']) => number | null) => minutes.map(of);
    return {
      times: minutes.map(({ minute }) => Date.parse(minute) / 1_000),
      throughput: [
        { label: 'Started', colour: '--busy-bar', values: pick(({ created }) => created) },
        { label: 'Succeeded', colour: '--ok-bar', values: pick(({ ended }) => ended.succeeded) },
        { label: 'Failed', colour: '--bad-bar', values: pick(({ ended }) => ended.failed + ended.expired) },
        {
          label: 'Delivered',
          colour: '--calm-bar',
          values: pick(({ delivered }) => delivered),
          dashed: true,
        },
      ],
      latency: [
        {
          label: 'First status p50',
          colour: '--busy-bar',
          values: pick(({ first_status }) => first_status?.p50_ms ?? null),
        },
        {
          label: 'First status p95',
          colour: '--busy-bar',
          values: pick(({ first_status }) => first_status?.p95_ms ?? null),
          dashed: true,
        },
        {
          label: 'Delivered p50',
          colour: '--ok-bar',
          values: pick(({ answered }) => answered?.p50_ms ?? null),
        },
        {
          label: 'Delivered p95',
          colour: '--ok-bar',
          values: pick(({ answered }) => answered?.p95_ms ?? null),
          dashed: true,
        },
      ],
    };
  }, [minutes]);
  const sum = (of: (minute: Schema['OverviewMinute']) => number) =>
    minutes.reduce((total, minute) => total + of(minute), 0);
  const started = sum(({ created }) => created);
  return (
    <div className="charts">
      <section className="panel" aria-labelledby="throughput">
        <h2 id="throughput">Sessions per minute{!exact && <span className="muted"> (at least)</span>}</h2>
        <LazyLineChart
          label={`Sessions per minute in the last hour. ${started} started, ${sum(({ ended }) => ended.succeeded)} succeeded, ${sum(({ ended }) => ended.failed + ended.expired)} failed.`}
          times={charts.times}
          series={charts.throughput}
          format={countText}
        />
      </section>
      <section className="panel" aria-labelledby="latency">
        <h2 id="latency">Time from the webhook</h2>
        <LazyLineChart
          label="Time from the webhook to the first status and to the delivered answer, in the last hour, by minute: median and 95th percentile."
          times={charts.times}
          series={charts.latency}
          format={duration}
        />
      </section>
      <Details className="chart-table" summary="Show the figures as a table">
        {() => <FigureTable minutes={minutes} />}
      </Details>
    </div>
  );
}

/** Minutes in which something happened, the last first. */
function FigureTable({ minutes }: { readonly minutes: readonly Schema['OverviewMinute'][] }) {
  const busy = minutes
    .filter(
      ({ created, delivered, ended }) =>
        created + delivered + ended.succeeded + ended.failed + ended.expired > 0,
    )
    .toReversed();
  if (busy.length === 0) return <p className="muted">Nothing happened in the last hour.</p>;
  const time = (latency: Schema['Latency'] | null) =>
    latency === null ? '–' : `${duration(latency.p50_ms)} / ${duration(latency.p95_ms)}`;
  return (
    <div className="table-scroll">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Minute</th>
            <th scope="col">Started</th>
            <th scope="col">Succeeded</th>
            <th scope="col">Failed</th>
            <th scope="col">Delivered</th>
            <th scope="col">First status, p50 / p95</th>
            <th scope="col">Delivered, p50 / p95</th>
          </tr>
        </thead>
        <tbody>
          {busy.map((minute) => (
            <tr key={minute.minute}>
              <th scope="row">
                <Time at={minute.minute} />
              </th>
              <td>{minute.created}</td>
              <td>{minute.ended.succeeded}</td>
              <td>{minute.ended.failed + minute.ended.expired}</td>
              <td>{minute.delivered}</td>
              <td>{time(minute.first_status)}</td>
              <td>{time(minute.answered)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
