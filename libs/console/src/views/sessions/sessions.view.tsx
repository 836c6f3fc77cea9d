import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo, useRef, useState } from 'react';
import { useHotkeys } from '../../app/keyboard/use-hotkeys.ts';
import { Page } from '../../app/shell/page.tsx';
import { Button } from '../../parts/controls/button.tsx';
import { Empty, Failed, Loading } from '../../parts/feedback/states.tsx';
import { useRouteNames } from '../../parts/filters/use-known-names.ts';
import { countText } from '../../parts/text/visible-text.ts';
import type { BulkAction } from './bulk/bulk-action.ts';
import { MatchingDialog } from './bulk/matching-dialog.tsx';
import { SelectedDialog } from './bulk/selected-dialog.tsx';
import { type Selection, toggled } from './bulk/selection.ts';
import { FilterBar } from './filters/filter-bar.tsx';
import { Presets } from './filters/presets.tsx';
import { filtersOf, hasFilters, type ListSearch } from './filters/session-filters.ts';
import { SessionList } from './list/session-list.tsx';
import type { SessionRow } from './list/session-rows.ts';
import { useCount, useSessionList } from './list/use-session-list.ts';
import './sessions.css';

/** At the top, or so near that a new row moves nothing that is read. */
const TOP_PX = 8;
const NONE: ReadonlySet<string> = new Set();

/** Every session, by filters that are in the address. */
export function SessionsView() {
  const search = useSearch({ from: '/shell/sessions' });
  const navigate = useNavigate();
  const scroller = useRef<HTMLDivElement>(null);
  const searchField = useRef<HTMLInputElement>(null);
  const visible = useRef<readonly string[]>([]);
  const [selected, setSelected] = useState<Selection>(NONE);
  const [act, setAct] = useState<{ readonly action: BulkAction; readonly row?: SessionRow } | null>(null);
  const atTop = useCallback(() => (scroller.current?.scrollTop ?? 0) < TOP_PX, []);
  const seen = useMemo(() => ({ atTop, visible: () => visible.current }), [atTop]);
  const { key, loader, state, offset, keepOffset } = useSessionList(search, seen);
  const count = useCount(search);
  const { rows, waiting, behind } = state.list;
  const names = useSeenNames(rows);

  // Also after a saved view or the browser's "back": "all that match" would then mean sessions that nobody has seen.
  const [selectedIn, setSelectedIn] = useState(key);
  if (selectedIn !== key) {
    setSelectedIn(key);
    setSelected(NONE);
    setAct(null);
  }
  const someSelected = selected === 'all' || selected.size > 0;
  const change = (next: ListSearch) => {
    void navigate({ to: '/sessions', search: next, replace: true });
  };
  const toggle = useCallback(
    (id: string) => setSelected((before) => toggled(before, id, loader.state.list.rows)),
    [loader],
  );
  const onVisible = useCallback((ids: readonly string[]) => {
    visible.current = ids;
  }, []);
  useHotkeys({
    '/': () => searchField.current?.focus(),
    escape: () => (someSelected ? setSelected(NONE) : false),
  });
  const toTop = () => {
    if (behind) void loader.reload();
    else loader.showNewer();
    scroller.current?.scrollTo({ top: 0 });
  };
  const chosen = selected === 'all' ? [] : rows.filter(({ id }) => selected.has(id));
  const close = () => setAct(null);

  return (
    <Page
      title="Sessions"
      fills
      beside={
        <span className="muted" role="status">
          {count === null ? '' : `${count.exact ? '' : 'at least '}${countText(count.count)}`}
        </span>
      }
    >
      <Presets search={search} />
      <FilterBar search={search} onChange={change} searchField={searchField} seen={names} />
      <div className="session-list panel">
        {(waiting.length > 0 || behind) && (
          <Button kind="main" className="newer" onClick={toTop}>
            {behind ? 'Many new sessions: show them' : `${waiting.length} new: show`}
          </Button>
        )}
        {rows.length === 0 ? (
          <NoRows
            search={search}
            loading={!state.complete}
            error={state.error}
            retry={() => void loader.reload()}
          />
        ) : (
          <SessionList
            key={key}
            loader={loader}
            state={state}
            scroller={scroller}
            offset={offset}
            keepOffset={keepOffset}
            onVisible={onVisible}
            selected={selected}
            onSelect={toggle}
            onRetry={(row) => setAct(someSelected ? { action: 'resume' } : { action: 'resume', row })}
          />
        )}
      </div>
      {someSelected && (
        <section className="bulk-bar" aria-label="Selection">
          <span role="status">
            {selected === 'all'
              ? `All ${count === null ? '' : countText(count.count)} that match`
              : `${selected.size} selected`}
          </span>
          {selected !== 'all' && (
            <Button kind="quiet" onClick={() => setSelected('all')}>
              Select all {count === null ? '' : countText(count.count)} that match
            </Button>
          )}
          <span className="bulk-actions">
            <Button onClick={() => setAct({ action: 'resume' })}>Retry</Button>
            <Button onClick={() => setAct({ action: 'cancel' })}>Cancel</Button>
            <Button onClick={() => setAct({ action: 'erase' })}>Erase</Button>
            <Button kind="quiet" onClick={() => setSelected(NONE)}>
              Clear the selection
            </Button>
          </span>
        </section>
      )}
      {act !== null &&
        (selected === 'all' && act.row === undefined ? (
          <MatchingDialog
            action={act.action}
            filters={filtersOf(search)}
            onDone={() => void loader.refreshHead(atTop)}
            onClose={close}
          />
        ) : (
          <SelectedDialog
            action={act.action}
            rows={act.row === undefined ? chosen : [act.row]}
            onDone={(ids) => {
              // Not all that were selected: some are still at work, were refused, or were not reached before somebody stopped it.
              if (act.action === 'erase') loader.forget(ids);
              if (act.row === undefined) setSelected(NONE);
              void loader.refreshRows(visible.current);
            }}
            onClose={close}
          />
        ))}
    </Page>
  );
}

function NoRows(props: {
  readonly search: ListSearch;
  readonly loading: boolean;
  readonly error: unknown;
  readonly retry: () => void;
}) {
  if (props.error !== null) return <Failed error={props.error} retry={props.retry} triesAgain />;
  if (props.loading) return <Loading what="sessions" />;
  if (hasFilters(props.search))
    return <Empty title="No session matches">Take a filter away, or look at a longer time.</Empty>;
  return <NoSessions />;
}

function NoSessions() {
  const [route = '<route>'] = useRouteNames();
  return (
    <Empty
      title="No sessions yet"
      command={`curl -X POST -H 'Content-Type: application/json' -d '{"text":"hello"}' ${location.origin}/webhooks/${route}`}
    >
      A webhook to a route starts one. <code>angelia send {route}</code> signs and sends one for you.
    </Empty>
  );
}

/** Agents and models of the rows so far, for the facets. */
function useSeenNames(rows: readonly SessionRow[]) {
  const known = useRef({ agents: new Set<string>(), models: new Set<string>(), looked: 0 });
  return useMemo(() => {
    const { agents, models } = known.current;
    for (const { agent, model } of rows.slice(0, 1_000)) {
      agents.add(agent);
      if (model !== null) models.add(model);
    }
    return { agents: [...agents].toSorted(), models: [...models].toSorted() };
  }, [rows]);
}
