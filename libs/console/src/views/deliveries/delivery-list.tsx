import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { type Delivery, listDeliveries } from '../../api/calls/delivery-calls.ts';
import { retryDelivery } from '../../api/calls/session-calls.ts';
import { typesOf, useRefresh } from '../../api/feed/use-refresh.ts';
import { useRowKeys } from '../../app/keyboard/use-row-keys.ts';
import { useUrlFilters } from '../../app/url-filters.ts';
import { Button } from '../../parts/controls/button.tsx';
import { Icon } from '../../parts/controls/icon.tsx';
import { Empty, Failed, Loading } from '../../parts/feedback/states.tsx';
import { tell, tellFailure } from '../../parts/feedback/toasts.tsx';
import { FilterBar } from '../../parts/filters/filter-bar.tsx';
import { MomentFilter } from '../../parts/filters/moment-filter.tsx';
import { SelectFilter } from '../../parts/filters/select-filter.tsx';
import { TextFilter } from '../../parts/filters/text-filter.tsx';
import { useRouteNames, useTargetNames } from '../../parts/filters/use-known-names.ts';
import { JobPreviewDialog } from '../../parts/jobs/job-preview-dialog.tsx';
import { isLive, More } from '../../parts/list/more.tsx';
import { Untrusted } from '../../parts/text/text.tsx';
import { DeliveryRow } from './delivery-row.tsx';
import { DELIVERY_STATES, retryFilterOf } from './delivery-state.ts';
import { RetrySelected } from './retry-selected.tsx';

const STATUSES = Object.entries(DELIVERY_STATES).map(([value, { name }]) => [value, name] as const);

/** Deliveries by target and state, with retry of one, of some, and of all that match. */
export function DeliveryList({ onJob }: { readonly onJob: (id: string) => void }) {
  const [filters, setFilters] = useUrlFilters(['status', 'target', 'route', 'session', 'since', 'until']);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [asking, setAsking] = useState<'all' | 'selected' | null>(null);
  const queries = useQueryClient();
  const list = useRef<HTMLUListElement>(null);
  const routes = useRouteNames();
  const targets = useTargetNames();
  const deliveries = useInfiniteQuery({
    queryKey: ['deliveries', filters],
    queryFn: ({ pageParam, signal }) => listDeliveries(filters, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next_cursor }) => next_cursor,
    placeholderData: (before) => before,
  });
  useRefresh(['deliveries'], typesOf('delivery.', 'output.'), isLive(deliveries.data));
  const items: readonly Delivery[] = deliveries.data?.pages.flatMap((page) => page.items) ?? [];
  const dead = items.filter(({ status }) => status === 'dead');
  const chosen = dead.filter(({ id }) => selected.has(id));

  const retry = async (id: string) => {
    try {
      await retryDelivery(id);
      tell('It is sent again.');
    } catch (refused) {
      tellFailure(refused);
    }
    await queries.invalidateQueries({ queryKey: ['deliveries'] });
  };
  const toggle = (id: string) => {
    if (!dead.some((delivery) => delivery.id === id)) return;
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  useRowKeys(list, {
    select: toggle,
    retry: (id) => {
      if (chosen.length > 0) return setAsking('selected');
      if (id === null || !dead.some((delivery) => delivery.id === id)) return false;
      return void retry(id);
    },
    leave: () => (selected.size === 0 ? false : setSelected(new Set())),
  });
  const filtered = Object.keys(filters).length > 0;
  const clear = () =>
    setFilters({
      status: undefined,
      target: undefined,
      route: undefined,
      session: undefined,
      since: undefined,
      until: undefined,
    });
  // Nothing but dead deliveries can be sent again.
  const retryFilter =
    filters.status === undefined || filters.status === 'dead' ? retryFilterOf(filters) : null;
  return (
    <div className="stack">
      <FilterBar label="Filter the deliveries" clear={filtered ? clear : undefined}>
        <SelectFilter
          label="State"
          value={filters.status}
          options={STATUSES}
          onChange={(status) => setFilters({ status })}
        />
        <SelectFilter
          label="Target"
          value={filters.target}
          options={targets}
          any="All targets"
          onChange={(target) => setFilters({ target })}
        />
        <SelectFilter
          label="Route"
          value={filters.route}
          options={routes}
          any="All routes"
          onChange={(route) => setFilters({ route })}
        />
        <MomentFilter
          label="Changed since"
          value={filters.since}
          onChange={(since) => setFilters({ since })}
        />
        <MomentFilter
          label="Changed before"
          value={filters.until}
          onChange={(until) => setFilters({ until })}
        />
        <TextFilter
          label="Session"
          search
          placeholder="whole id"
          value={filters.session}
          onChange={(session) => setFilters({ session })}
        />
      </FilterBar>
      <div className="list-actions">
        {dead.length > 0 && (
          <label className="check">
            <input
              type="checkbox"
              checked={chosen.length === dead.length}
              ref={(box) => {
                if (box !== null) box.indeterminate = chosen.length > 0 && chosen.length < dead.length;
              }}
              onChange={(event) =>
                setSelected(event.target.checked ? new Set(dead.map(({ id }) => id)) : new Set())
              }
            />
            Select the {dead.length} dead shown
          </label>
        )}
        {chosen.length > 0 && (
          <Button kind="main" onClick={() => setAsking('selected')}>
            <Icon name="retry" /> Retry {chosen.length} selected
          </Button>
        )}
        {retryFilter !== null && (
          <Button className="end" onClick={() => setAsking('all')}>
            <Icon name="retry" /> Retry all dead that match…
          </Button>
        )}
      </div>
      {deliveries.isPending && <Loading what="the deliveries" />}
      {deliveries.isError && items.length === 0 && (
        <Failed error={deliveries.error} retry={() => void deliveries.refetch()} />
      )}
      {deliveries.isSuccess && items.length === 0 && <NoDeliveries filtered={filtered} />}
      {items.length > 0 && (
        <ul ref={list} className="rows" aria-label="Deliveries">
          {items.map((delivery) => (
            <DeliveryRow
              key={delivery.id}
              delivery={delivery}
              selected={selected.has(delivery.id)}
              onSelect={() => toggle(delivery.id)}
              onRetry={() => void retry(delivery.id)}
            />
          ))}
        </ul>
      )}
      {items.length > 0 && (
        <More what="deliveries" shown={items.length} liveKey={['deliveries']} query={deliveries} />
      )}
      {asking === 'all' && retryFilter !== null && (
        <JobPreviewDialog
          title="Retry all dead deliveries that match"
          action="retry-deliveries"
          filter={retryFilter}
          noun={['dead delivery', 'dead deliveries']}
          act={(count) => `Send ${count} again`}
          sample={(item) =>
            'target' in item && (
              <>
                <strong>{item.target}</strong> <span className="mono">{item.id}</span>
                {item.reason !== null && (
                  <div className="muted">
                    <Untrusted text={item.reason} />
                  </div>
                )}
              </>
            )
          }
          onClose={() => setAsking(null)}
          onStarted={(id) => {
            setAsking(null);
            onJob(id);
          }}
        />
      )}
      {asking === 'selected' && (
        <RetrySelected
          ids={chosen.map(({ id }) => id)}
          onClose={() => {
            setAsking(null);
            setSelected(new Set());
            void queries.invalidateQueries({ queryKey: ['deliveries'] });
          }}
        />
      )}
    </div>
  );
}

function NoDeliveries({ filtered }: { readonly filtered: boolean }) {
  return filtered ? (
    <Empty title="No delivery matches">Change a filter, or clear them all.</Empty>
  ) : (
    <Empty
      title="Nothing was delivered yet"
      command={`curl -X POST ${location.origin}/webhooks/<route> \\
  -H 'Content-Type: application/json' -d '{"hello":"world"}'`}
    >
      Every status and every answer of a session is delivered to the target of its route. Send a route a
      webhook:
    </Empty>
  );
}
