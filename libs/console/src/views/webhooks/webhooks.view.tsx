import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useRef } from 'react';
import { countUnstarted, listUnstarted, type UnstartedCount } from '../../api/calls/webhook-calls.ts';
import { useRowKeys } from '../../app/keyboard/use-row-keys.ts';
import { Page } from '../../app/shell/page.tsx';
import { useUrlFilters } from '../../app/url-filters.ts';
import { Empty, Failed, Loading } from '../../parts/feedback/states.tsx';
import { FilterBar } from '../../parts/filters/filter-bar.tsx';
import { MomentFilter } from '../../parts/filters/moment-filter.tsx';
import { SelectFilter } from '../../parts/filters/select-filter.tsx';
import { useRouteNames } from '../../parts/filters/use-known-names.ts';
import { countText } from '../../parts/text/visible-text.ts';
import { Time } from '../../parts/time/time.tsx';
import { OUTCOMES, outcomeNames } from './outcomes.ts';
import { WebhookRow } from './webhook-row.tsx';
import '../../parts/list/list.css';
import './webhooks.css';

/** These webhooks are not in the log, so the live feed does not tell of them. */
const POLL_MS = 5_000;

/** What came and started nothing, with the reason. */
export function WebhooksView() {
  const [filters, setFilters] = useUrlFilters(['route', 'outcome', 'refused', 'since']);
  const list = useRef<HTMLUListElement>(null);
  const routes = useRouteNames();
  const webhooks = useQuery({
    queryKey: ['webhooks', 'list', filters],
    queryFn: ({ signal }) => listUnstarted(filters, signal),
    refetchInterval: POLL_MS,
    placeholderData: (before) => before,
  });
  useRowKeys(list);
  const items = webhooks.data?.items ?? [];
  const filtered = Object.keys(filters).length > 0;
  const clear = () =>
    setFilters({ route: undefined, outcome: undefined, refused: undefined, since: undefined });
  return (
    <Page title="Webhooks" beside={<span className="muted">that started no session</span>}>
      <FilterBar label="Filter the webhooks" clear={filtered ? clear : undefined}>
        <SelectFilter
          label="Route"
          value={filters.route}
          options={routes}
          any="All routes"
          onChange={(route) => setFilters({ route })}
        />
        <SelectFilter
          label="Outcome"
          value={filters.outcome}
          options={outcomeNames}
          onChange={(outcome) => setFilters({ outcome })}
        />
        <MomentFilter
          label="Received since"
          value={filters.since}
          onChange={(since) => setFilters({ since })}
        />
        <label className="check">
          <input
            type="checkbox"
            checked={filters.refused !== undefined}
            onChange={(event) => setFilters({ refused: event.target.checked ? 'true' : undefined })}
          />
          Only refused
        </label>
      </FilterBar>
      <Counts
        route={filters.route}
        choose={(route, outcome) => setFilters({ route, outcome, refused: undefined })}
      />
      {webhooks.isPending && <Loading what="the webhooks" />}
      {webhooks.isError && <Failed error={webhooks.error} retry={() => void webhooks.refetch()} />}
      {webhooks.isSuccess && items.length === 0 && (
        <Empty
          title={filtered ? 'No webhook matches' : 'Every webhook started a session'}
          command={`curl -i -X POST ${location.origin}/webhooks/${filters.route ?? 'no-such-route'} \\
  -H 'Content-Type: application/json' -d '{"hello":"world"}'`}
        >
          {filtered
            ? 'Of each route, outcome and reason the last 50 are kept for at most 7 days. '
            : 'A webhook that is ignored, refused or a duplicate is listed here with the reason. '}
          This one is refused, and appears here:
        </Empty>
      )}
      {items.length > 0 && (
        <ul ref={list} className="rows" aria-label="Webhooks that started nothing">
          {items.map((webhook, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: counted from the end, a row keeps its place when others come at the top.
            <WebhookRow key={`${webhook.received_at} ${items.length - index}`} webhook={webhook} />
          ))}
        </ul>
      )}
      {items.length > 0 && (
        <p className="list-end">
          Of each route, outcome and reason the last 50 are kept for at most 7 days.
          {items.length >= 200 && ' The newest 200 are shown: use the filters to see others.'}
        </p>
      )}
    </Page>
  );
}

interface CountsProps {
  readonly route: string | undefined;
  readonly choose: (route: string | undefined, outcome: string) => void;
}

/** How many of each kind, also of those that are not kept. */
function Counts({ route, choose }: CountsProps) {
  const counts = useQuery({
    queryKey: ['webhooks', 'counts', route ?? null],
    queryFn: ({ signal }) => countUnstarted(route, signal),
    refetchInterval: POLL_MS,
  });
  const items = counts.data?.items ?? [];
  if (items.length === 0) return null;
  return (
    <details className="panel counts">
      <summary>
        By reason: {countText(items.reduce((sum, { count }) => sum + count, 0))} in {items.length}{' '}
        {items.length === 1 ? 'kind' : 'kinds'}
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it. */}
      <section className="table-scroll" aria-label="Webhooks by reason" tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Route</th>
              <th scope="col">Outcome</th>
              <th scope="col">Reason</th>
              <th scope="col">Count</th>
              <th scope="col">Last</th>
            </tr>
          </thead>
          <tbody>
            {items.map((item) => (
              <CountRow key={`${item.route} ${item.outcome} ${item.reason}`} item={item} choose={choose} />
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}

function CountRow({
  item,
  choose,
}: {
  readonly item: UnstartedCount;
  readonly choose: CountsProps['choose'];
}) {
  return (
    <tr>
      <td>
        {item.route === null ? (
          <span className="muted">none</span>
        ) : (
          <Link to="/routes/$name" params={{ name: item.route }}>
            {item.route}
          </Link>
        )}
      </td>
      <td>
        <button
          type="button"
          className="link-button"
          onClick={() => choose(item.route ?? undefined, item.outcome)}
        >
          {OUTCOMES[item.outcome].name}
        </button>
      </td>
      <td className="mono">{item.reason}</td>
      <td>{countText(item.count)}</td>
      <td>
        <Time at={item.last_at} />
      </td>
    </tr>
  );
}
