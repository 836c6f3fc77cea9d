import { useNavigate, useRouter } from '@tanstack/react-router';
import {
  type MouseEvent,
  memo,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { useHotkeys } from '../../../app/keyboard/use-hotkeys.ts';
import { SessionBadge } from '../../../parts/session/session-badge.tsx';
import { countText, visibleText } from '../../../parts/text/visible-text.ts';
import { Time, Took } from '../../../parts/time/time.tsx';
import type { Selection } from '../bulk/selection.ts';
import type { ListLoader, ListState } from './list-loader.ts';
import { placeToShow } from './rows-in-sight.ts';
import type { SessionRow } from './session-rows.ts';
import { useRowsInSight } from './use-rows-in-sight.ts';

const ROW = 60;
/** On a phone a row has three lines. */
const PHONE_ROW = 92;
const NARROW = '(max-width: 760px)';
const fittingHeight = () => (matchMedia(NARROW).matches ? PHONE_ROW : ROW);
/** The next page is on its way before the reader comes to the end. */
const LOAD_BEFORE_END = 60;

interface Props {
  readonly loader: ListLoader;
  readonly state: ListState;
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly offset: number;
  readonly keepOffset: (offset: number) => void;
  readonly onVisible: (ids: readonly string[]) => void;
  readonly selected: Selection;
  readonly onSelect: (id: string) => void;
  readonly onRetry: (row: SessionRow) => void;
}

/** Rows of sessions. Only those in sight are drawn. */
export function SessionList(props: Props) {
  const { loader, state, scroller, selected } = props;
  const { rows } = state.list;
  const navigate = useNavigate();
  const { basepath } = useRouter();
  const [cursor, setCursor] = useState<string | null>(null);
  const focusOn = useRef<number | null>(null);
  const [rowHeight, setRowHeight] = useState(fittingHeight);
  // Where the reader left the list, before it is drawn for the first time.
  const left = useRef(props.offset);
  useLayoutEffect(() => {
    if (scroller.current !== null) scroller.current.scrollTop = left.current;
  }, [scroller]);
  const { first, end } = useRowsInSight(scroller, { count: rows.length, height: rowHeight });
  const inSight = rows.slice(first, end);
  const last = end - 1;

  useEffect(() => {
    const narrow = matchMedia(NARROW);
    const fit = () => setRowHeight(fittingHeight());
    narrow.addEventListener('change', fit);
    return () => narrow.removeEventListener('change', fit);
  }, []);
  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - LOAD_BEFORE_END) void loader.loadMore();
  }, [last, rows.length, loader]);
  useEffect(() => {
    props.onVisible(inSight.map(({ id }) => id));
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
    const list = scroller.current;
    if (list !== null) list.scrollTop = placeToShow(index, list, rowHeight);
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

  const open = useCallback(
    (id: string) => void navigate({ to: '/sessions/$id', params: { id } }),
    [navigate],
  );

  return (
    <div
      ref={scroller}
      className="session-scroll"
      onScroll={(event) => props.keepOffset(event.currentTarget.scrollTop)}
    >
      <ul className="session-rows" aria-label="Sessions" style={{ height: rows.length * rowHeight }}>
        {inSight.map((row, at) => (
          <Row
            key={row.id}
            row={row}
            index={first + at}
            top={(first + at) * rowHeight}
            height={rowHeight}
            address={`${basepath}/sessions/${row.id}`}
            onOpen={open}
            total={state.complete ? rows.length : -1}
            selected={selected === 'all' || selected.has(row.id)}
            onSelect={props.onSelect}
            onFocus={setCursor}
          />
        ))}
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
  readonly address: string;
  readonly total: number;
  readonly selected: boolean;
  readonly onOpen: (id: string) => void;
  readonly onSelect: (id: string) => void;
  readonly onFocus: (id: string) => void;
}

/** With another button or a key, a link opens a tab or a window, or is copied. That is the browser's business. */
const isPlainClick = ({ button, metaKey, ctrlKey, shiftKey, altKey }: MouseEvent) =>
  button === 0 && !metaKey && !ctrlKey && !shiftKey && !altKey;

const Row = memo(function Row(props: RowProps) {
  const { row, index, top, height, address, total, selected, onOpen, onSelect, onFocus } = props;
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
        {/* Not the router's Link, of which each follows the address of the page. */}
        <a
          href={address}
          className="session-link cut"
          onClick={(event) => {
            if (!isPlainClick(event)) return;
            event.preventDefault();
            onOpen(row.id);
          }}
        >
          <bdi>{title}</bdi>
        </a>
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
