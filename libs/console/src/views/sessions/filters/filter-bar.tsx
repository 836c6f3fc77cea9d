import { type ReactNode, type RefObject, useEffect, useState } from 'react';
import { Button } from '../../../parts/controls/button.tsx';
import { Icon } from '../../../parts/controls/icon.tsx';
import { MomentFilter } from '../../../parts/filters/moment-filter.tsx';
import { useRouteNames } from '../../../parts/filters/use-known-names.ts';
import { visibleText } from '../../../parts/text/visible-text.ts';
import {
  FAILURES,
  type FilterName,
  hasFilters,
  type ListSearch,
  SORTS,
  VALUES,
  withFilter,
} from './session-filters.ts';

interface Props {
  readonly search: ListSearch;
  readonly onChange: (search: ListSearch) => void;
  readonly searchField: RefObject<HTMLInputElement | null>;
  /** Agents and models that the list has shown. The API has no list of them. */
  readonly seen: { readonly agents: readonly string[]; readonly models: readonly string[] };
}

const TIMES: readonly (readonly [value: string, label: string])[] = [
  ['15m', 'last 15 minutes'],
  ['1h', 'last hour'],
  ['24h', 'last 24 hours'],
  ['7d', 'last 7 days'],
  ['30d', 'last 30 days'],
];

/** Search, facets, time range and order. Everything is in the address, so that a bookmark is a saved view. */
export function FilterBar({ search, onChange, searchField, seen }: Props) {
  const [more, setMore] = useState(false);
  const routes = useRouteNames();
  const set = (name: FilterName | 'sort', value: string) => onChange(withFilter(search, name, value));
  const facet = (name: FilterName, label: string, values: readonly string[]) => (
    <Facet label={label} value={search[name] ?? ''} values={values} onChange={(value) => set(name, value)} />
  );
  return (
    <search className="filters" aria-label="Filters">
      <SearchField search={search} onChange={onChange} field={searchField} />
      <Button className="filters-more" aria-expanded={more} onClick={() => setMore(!more)}>
        Filters
        {hasFilters(search) && <span className="hidden-text"> (some are set)</span>}
      </Button>
      <div className={`facets ${more ? 'facets-open' : ''}`}>
        {facet('status', 'Status', VALUES.status)}
        {facet('outcome', 'Outcome', VALUES.outcome)}
        {facet('waiting_for', 'Waiting for', VALUES.waiting_for)}
        {facet('route', 'Route', routes)}
        {facet('agent', 'Agent', seen.agents)}
        {facet('model', 'Model', seen.models)}
        {facet('failure', 'Failure', FAILURES)}
        <TimeRange search={search} onChange={onChange} />
        <Labelled label="Order">
          <select
            className="field"
            value={search.sort ?? 'newest'}
            onChange={(event) => set('sort', event.target.value)}
          >
            {SORTS.map((sort) => (
              <option key={sort} value={sort}>
                {sort}
              </option>
            ))}
          </select>
        </Labelled>
        {hasFilters(search) && (
          <Button kind="quiet" onClick={() => onChange({})}>
            <Icon name="close" /> Clear
          </Button>
        )}
      </div>
    </search>
  );
}

/** The text goes into the address when the reader pauses: each letter would be a call. */
const PAUSE_MS = 250;

function SearchField(props: {
  readonly search: ListSearch;
  readonly onChange: (search: ListSearch) => void;
  readonly field: RefObject<HTMLInputElement | null>;
}) {
  const { search, onChange, field } = props;
  const wanted = search.q ?? '';
  const [text, setText] = useState(wanted);
  useEffect(() => void setText(wanted), [wanted]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows the text alone.
  useEffect(() => {
    if (text.trim() === wanted) return;
    const timer = setTimeout(() => onChange(withFilter(search, 'q', text.trim())), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div className="search-field">
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        className="field"
        aria-label="Search sessions"
        aria-keyshortcuts="/"
        placeholder="Title, session id or delivery id"
        maxLength={200}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </div>
  );
}

function Facet(props: {
  readonly label: string;
  readonly value: string;
  readonly values: readonly string[];
  readonly onChange: (value: string) => void;
}) {
  const { label, value, values, onChange } = props;
  // A value of the address is offered even if nothing else knows it.
  const offered = value === '' || values.includes(value) ? values : [value, ...values];
  return (
    <Labelled label={label}>
      <select
        className={`field ${value === '' ? '' : 'facet-set'}`}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      >
        <option value="">any</option>
        {offered.map((one) => (
          <option key={one} value={one}>
            {visibleText(one)}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

/** A range by its age, or from one time to another. */
function TimeRange({ search, onChange }: Pick<Props, 'search' | 'onChange'>) {
  const { since = '', until = '' } = search;
  const known = since === '' || TIMES.some(([value]) => value === since);
  const [exact, setExact] = useState(!known || until !== '');
  const set = (name: FilterName, value: string) => onChange(withFilter(search, name, value));
  return (
    <>
      <Labelled label="Created">
        <select
          className={`field ${since === '' && until === '' ? '' : 'facet-set'}`}
          value={exact ? 'exact' : since}
          onChange={({ target: { value } }) => {
            setExact(value === 'exact');
            if (value !== 'exact') onChange(withFilter(withFilter(search, 'until', ''), 'since', value));
          }}
        >
          <option value="">any time</option>
          {TIMES.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
          <option value="exact">from … to …</option>
        </select>
      </Labelled>
      {exact && (
        <>
          <MomentFilter label="From" value={search.since} onChange={(at = '') => set('since', at)} />
          <MomentFilter label="To" value={search.until} onChange={(at = '') => set('until', at)} />
        </>
      )}
    </>
  );
}

function Labelled({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is its child.
    <label className="facet">
      <span>{label}</span>
      {children}
    </label>
  );
}
