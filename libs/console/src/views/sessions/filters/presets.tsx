import { Link } from '@tanstack/react-router';
import { stringifySearch } from '../../../app/search-params.ts';
import type { ListSearch } from './session-filters.ts';

/** Views that most people want. A bookmark keeps any other. */
const PRESETS: readonly (readonly [name: string, search: ListSearch])[] = [
  ['All', {}],
  ['Running', { status: 'running' }],
  ['Waiting for a person', { status: 'waiting', waiting_for: 'person' }],
  ['Waiting for an approval', { status: 'waiting', waiting_for: 'approval' }],
  ['Waiting for a model', { status: 'waiting', waiting_for: 'model' }],
  ['Failed in the last hour', { outcome: 'failed', ended_since: '1h' }],
  ['Failed today', { outcome: 'failed', ended_since: '24h' }],
];

export function Presets({ search }: { readonly search: ListSearch }) {
  const current = stringifySearch(search);
  return (
    <nav className="presets" aria-label="Saved views">
      {PRESETS.map(([name, preset]) => (
        <Link
          key={name}
          to="/sessions"
          search={preset}
          className="preset"
          activeOptions={{ exact: true }}
          aria-current={stringifySearch(preset) === current ? 'page' : undefined}
        >
          {name}
        </Link>
      ))}
    </nav>
  );
}
