import { useNavigate, useSearch } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type RefObject, useCallback, useDeferredValue, useMemo, useRef, useState } from 'react';
import { useRowKeys } from '../../../app/keyboard/use-row-keys.ts';
import { Icon } from '../../../parts/controls/icon.tsx';
import { Empty, Failed, Loading } from '../../../parts/feedback/states.tsx';
import { JsonView } from '../../../parts/json/json-view.tsx';
import { Time } from '../../../parts/time/time.tsx';
import { findEvents } from '../find-events.ts';
import type { SessionEvent } from '../session-event.ts';
import { useEvents } from '../use-session.ts';

/** Everything in the log of this session, with a search in types and data. */
export function EventsTab({ id }: { readonly id: string }) {
  const { data: events, error, refetch } = useEvents(id);
  const { find = '' } = useSearch({ from: '/shell/sessions/$id' });
  const navigate = useNavigate();
  const list = useRef<HTMLDivElement>(null);
  useRowKeys(list);
  const wanted = useDeferredValue(find);
  const found = useMemo(() => findEvents(events ?? [], wanted), [events, wanted]);
  if (events === undefined)
    return error === null ? (
      <Loading what="the events" />
    ) : (
      <Failed error={error} retry={() => void refetch()} />
    );
  return (
    <div className="events-tab">
      <div className="events-bar">
        <input
          data-search
          type="search"
          className="field"
          aria-label="Search in events"
          placeholder="Search in types and data"
          value={find}
          onChange={(event) =>
            void navigate({
              to: '.',
              search: { tab: 'events', ...(event.target.value === '' ? {} : { find: event.target.value }) },
              replace: true,
              resetScroll: false,
            })
          }
        />
        <span className="muted" role="status">
          {found.length} of {events.length} events
        </span>
      </div>
      {found.length === 0 ? (
        <Empty title="No event has this text">The search looks at types, data and who appended it.</Empty>
      ) : (
        <EventList events={found} scroller={list} />
      )}
    </div>
  );
}

interface ListProps {
  readonly events: readonly SessionEvent[];
  readonly scroller: RefObject<HTMLDivElement | null>;
}

function EventList({ events, scroller }: ListProps) {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const keyOf = useCallback((index: number) => events[index]?.version ?? index, [events]);
  const rows = useVirtualizer({
    count: events.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 36,
    overscan: 10,
    getItemKey: keyOf,
  });
  const toggle = (version: number) => {
    const next = new Set(open);
    if (!next.delete(version)) next.add(version);
    setOpen(next);
  };
  return (
    <div ref={scroller} className="panel event-scroll">
      <ol className="event-rows" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, start, key }) => {
          const event = events[index];
          if (event === undefined) return null;
          const isOpen = open.has(event.version);
          return (
            <li
              key={key}
              data-index={index}
              data-row={event.version}
              ref={rows.measureElement}
              className="event-row"
              style={{ transform: `translateY(${start}px)` }}
            >
              <button
                type="button"
                className="event-toggle"
                data-row-focus
                aria-expanded={isOpen}
                onClick={() => toggle(event.version)}
              >
                <Icon name={isOpen ? 'shut' : 'open'} />
                <span className="event-version muted">{event.version}</span>
                <span className="mono">{event.type}</span>
                <span className="muted event-time">
                  <Time at={event.recorded_at} />
                </span>
              </button>
              {isOpen && <JsonView value={event} label={`Event ${event.version}`} />}
            </li>
          );
        })}
      </ol>
    </div>
  );
}
