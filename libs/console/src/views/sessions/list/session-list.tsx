import { Link, useNavigate } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, type RefObject, useCallback, useEffect, useRef, useState } from 'react';
import { useHotkeys } from '../../../app/keyboard/use-hotkeys.ts';
import { SessionBadge } from '../../../parts/session/session-badge.tsx';
import { countText, visibleText } from '../../../parts/text/visible-text.ts';
import { Time, Took } from '../../../parts/time/time.tsx';
import type { ListLoader, ListState } from './list-loader.ts';
import type { SessionRow } from './session-rows.ts';

const ROW = 60;
/** On a phone a row has three lines. */
const PHONE_ROW = 92;
/** The next page is on its way before the reader comes to the end. */
const LOAD_BEFORE_END = 60;

interface Props {
  readonly loader: ListLoader;
  readonly state: ListState;
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly offset: number;
  readonly keepOffset: (offset: number) => void;
  readonly onVisible: (ids: readonly string[]) => void;
  readonly selected: ReadonlySet<string> | 'all';
  readonly onSelect: (id: string) => void;
  readonly onRetry: (row: SessionRow) => void;
}

/** Rows of sessions. Only those in sight are drawn. */
export function SessionList(props: Props) {
  const { loader, state, scroller, selected } = props;
  const { rows } = state.list;
  const navigate = useNavigate();
  const [cursor, setCursor] = useState<string | null>(null);
  const focusOn = useRef<number | null>(null);
  const [rowHeight, setRowHeight] = useState(ROW);
  const keyOf = useCallback((index: number) => rows[index]?.id ?? index, [rows]);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 10,
    initialOffset: props.offset,
    // The function stays the same: with another one, all of 100,000 places would be worked out again.
    getItemKey: keyOf,
  });
  const items = list.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;

  useEffect(() => {
    const narrow = matchMedia('(max-width: 760px)');
    const fit = () => setRowHeight(narrow.matches ? PHONE_ROW : ROW);
    fit();
    narrow.addEventListener('change', fit);
    return () => narrow.removeEventListener('change', fit);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows have another height now.
  useEffect(() => list.measure(), [rowHeight]);
  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - LOAD_BEFORE_END) void loader.loadMore();
  }, [last, rows.length, loader]);
  useEffect(() => {
    props.onVisible(items.flatMap(({ index }) => rows[index]?.id ?? []));
    if (focusOn.current === null) return;
    const link = scroller.current?.querySelector<HTMLElement>(`[data-row="${focusOn.current}"] a`);
    if (link == null) return;
    link.focus({ preventScroll: true });
    focusOn.current = null;
  });

  const go = (to: number) => {
    const index = Math.min(Math.max(to, 0), rows.length - 1);
    const row = rows[index];
    if (row === undefined) return;
    setCursor(row.id);
    focusOn.current = index;
    list.scrollToIndex(index, { align: 'auto' });
  };
  // By its id: a new session at the top moves all rows.
  const place = () => (cursor === null ? -1 : rows.findIndex(({ id }) => id === cursor));
  const current = () => rows[place()];
  useHotkeys({
    j: () => go(place() + 1),
    k: () => go(place() - 1),
    x: () => {
      const row = current();
      return row === undefined ? false : props.onSelect(row.id);
    },
    r: () => {
      const row = current();
      return row === undefined ? false : props.onRetry(row);
    },
    enter: () => {
      const row = current();
      return row === undefined ? false : navigate({ to: '/sessions/$id', params: { id: row.id } });
    },
  });

  return (
    <div
      ref={scroller}
      className="session-scroll"
      onScroll={(event) => props.keepOffset(event.currentTarget.scrollTop)}
    >
      <ul className="session-rows" aria-label="Sessions" style={{ height: list.getTotalSize() }}>
        {items.map(({ index, start, key }) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <Row
              key={key}
              row={row}
              index={index}
              top={start}
              height={rowHeight}
              total={state.complete ? rows.length : -1}
              selected={selected === 'all' || selected.has(row.id)}
              onSelect={props.onSelect}
              onFocus={setCursor}
            />
          );
        })}
      </ul>
      {state.loading && rows.length > 0 && (
        <p className="muted session-more" role="status">
          Loading more…
        </p>
      )}
    </div>
  );
}

interface RowProps {
  readonly row: SessionRow;
  readonly index: number;
  readonly top: number;
  readonly height: number;
  readonly total: number;
  readonly selected: boolean;
  readonly onSelect: (id: string) => void;
  readonly onFocus: (id: string) => void;
}

const Row = memo(function Row({ row, index, top, height, total, selected, onSelect, onFocus }: RowProps) {
  const title = row.title === '' ? 'Without a title' : visibleText(row.title);
  return (
    <li
      data-row={index}
      className={`session-row ${selected ? 'session-row-selected' : ''}`}
      style={{ top, height }}
      aria-setsize={total}
      aria-posinset={index + 1}
      onFocus={() => onFocus(row.id)}
    >
      <label className="session-check">
        <input
          type="checkbox"
          checked={selected}
          aria-label={`Select ${title}`}
          onChange={() => onSelect(row.id)}
        />
      </label>
      <div className="session-main">
        <Link to="/sessions/$id" params={{ id: row.id }} preload={false} className="session-link cut">
          <bdi>{title}</bdi>
        </Link>
        <p className="session-meta cut">
          <span className="mono">{row.id}</span>
          <span>{row.route}</span>
          <span>{row.agent}</span>
          {row.model !== null && <span>{row.model}</span>}
        </p>
      </div>
      <div className="session-state">
        {row.failure !== null && <span className="tag">{row.failure}</span>}
        {row.dead > 0 && <span className="tag">{row.dead} dead</span>}
        <SessionBadge session={row} />
      </div>
      <div className="session-numbers muted">
        <span>
          <Time at={row.created} />
        </span>
        <span className="session-tokens">
          <Took from={row.created} until={row.ended} />
          {row.tokens > 0 && <> · {countText(row.tokens)} tokens</>}
        </span>
      </div>
    </li>
  );
});
