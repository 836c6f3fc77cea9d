import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useRef } from 'react';
import { listRoutes, type Route } from '../../api/calls/route-calls.ts';
import { typesOf, useRefresh } from '../../api/feed/use-refresh.ts';
import { useRowKeys } from '../../app/keyboard/use-row-keys.ts';
import { Page } from '../../app/shell/page.tsx';
import { useUrlFilters } from '../../app/url-filters.ts';
import { Badge } from '../../parts/feedback/badge.tsx';
import { Empty, Failed, Loading } from '../../parts/feedback/states.tsx';
import { FilterBar } from '../../parts/filters/filter-bar.tsx';
import { TextFilter } from '../../parts/filters/text-filter.tsx';
import { More } from '../../parts/list/more.tsx';
import { Untrusted } from '../../parts/text/text.tsx';
import { Time } from '../../parts/time/time.tsx';
import { atLeast, ROUTE_STATES, routesWith } from './route-state.ts';
import './routes.css';

/** Traffic is counted over the views: often enough for a person, seldom enough for twenty of them. */
const POLL_MS = 15_000;

/** Every route with what it did in the last day. */
export function RoutesView() {
  const [{ q = '' }, setFilters] = useUrlFilters(['q']);
  const list = useRef<HTMLTableSectionElement>(null);
  const routes = useInfiniteQuery({
    queryKey: ['routes', 'list'],
    queryFn: ({ pageParam, signal }) => listRoutes(pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
    refetchInterval: POLL_MS,
  });
  useRefresh(['routes'], typesOf('route.'));
  useRowKeys(list);
  const all: readonly Route[] = routes.data?.pages.flatMap((page) => page.items) ?? [];
  const items = routesWith(all, q);
  return (
    <Page
      title="Routes"
      beside={
        <Link to="/new-route" className="button button-main">
          New route
        </Link>
      }
    >
      {all.length > 0 && (
        <FilterBar
          label="Filter the routes"
          clear={q === '' ? undefined : () => setFilters({ q: undefined })}
        >
          <TextFilter
            label="Name, target or agent"
            search
            value={q}
            onChange={(text) => setFilters({ q: text })}
          />
        </FilterBar>
      )}
      {routes.isPending && <Loading what="the routes" />}
      {routes.isError && all.length === 0 && (
        <Failed error={routes.error} retry={() => void routes.refetch()} />
      )}
      {routes.isSuccess && all.length === 0 && (
        <Empty
          title="There is no route yet"
          command={`curl -X PUT ${location.origin}/v1/routes/hello \\
  -H "Authorization: Bearer $ANGELIA_ADMIN_TOKEN" -H 'Content-Type: application/json' \\
  -d '{"prompt":"Say hello to {name}"}'`}
        >
          A route is where webhooks go, and says what to do with them. Make one here, in the config file, or
          by the API:
        </Empty>
      )}
      {all.length > 0 && items.length === 0 && <Empty title="No route matches" />}
      {items.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it.
        <section className="table-scroll panel routes-table" aria-label="Routes" tabIndex={0}>
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Route</th>
                <th scope="col">State</th>
                <th scope="col">Last webhook</th>
                <th scope="col">Sessions in 24 h</th>
                <th scope="col">Failed</th>
                <th scope="col" className="wide-only">
                  Target
                </th>
                <th scope="col" className="wide-only">
                  Made by
                </th>
              </tr>
            </thead>
            <tbody ref={list}>
              {items.map((route) => (
                <RouteRow key={route.name} route={route} />
              ))}
            </tbody>
          </table>
        </section>
      )}
      {all.length > 0 && <More what="routes" shown={0} query={routes} />}
    </Page>
  );
}

function RouteRow({ route }: { readonly route: Route }) {
  const { tone, name } = ROUTE_STATES[route.status];
  const { traffic, definition } = route;
  return (
    <tr data-row={route.name}>
      <th scope="row" className="route-name">
        <Link to="/routes/$name" params={{ name: route.name }} data-row-focus>
          {route.name}
        </Link>
        {!route.authenticated && <span className="tag">no authentication</span>}
        {route.problem !== null && (
          <div className="form-error">
            <Untrusted text={route.problem} />
          </div>
        )}
      </th>
      <td>
        <Badge tone={tone}>{name}</Badge>
      </td>
      <td>
        {traffic?.last_webhook_at == null ? (
          <span className="muted">none seen</span>
        ) : (
          <Time at={traffic.last_webhook_at} />
        )}
      </td>
      <td>
        {traffic !== undefined && (
          <Link to="/sessions" search={{ route: route.name, since: '24h' } as never}>
            {atLeast(traffic.sessions, traffic.exact)}
            <span className="hidden-text"> sessions of {route.name}</span>
          </Link>
        )}
      </td>
      <td>
        {traffic !== undefined &&
          (traffic.failed === 0 ? (
            '0'
          ) : (
            <Link
              to="/sessions"
              search={{ route: route.name, outcome: 'failed', since: '24h' } as never}
              className="form-error"
            >
              {atLeast(traffic.failed, traffic.exact)}
              <span className="hidden-text"> failed sessions of {route.name}</span>
            </Link>
          ))}
      </td>
      <td className="wide-only">
        {typeof definition.deliver === 'string' && <Untrusted text={definition.deliver} />}
      </td>
      <td className="wide-only">{route.source === 'config' ? 'config file' : 'API'}</td>
    </tr>
  );
}
