import { useNavigate, useSearch } from '@tanstack/react-router';
import type { SearchParams } from './search-params.ts';

export type Filters<Name extends string> = { readonly [N in Name]?: string };

/** Those of `names` that the address has. */
export function filtersIn<Name extends string>(search: SearchParams, names: readonly Name[]): Filters<Name> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = search[name];
      return typeof value === 'string' && value.trim() !== '' ? [[name, value]] : [];
    }),
  ) as Filters<Name>;
}

/** The filters of a list live in its address, so that the address can be kept and sent. `undefined` removes one. */
export function useUrlFilters<const Name extends string>(
  names: readonly Name[],
): readonly [Filters<Name>, (change: { readonly [N in Name]?: string | undefined }) => void] {
  const search = useSearch({ strict: false }) as SearchParams;
  const navigate = useNavigate();
  return [
    filtersIn(search, names),
    (change) =>
      void navigate({
        to: '.',
        search: ((before: SearchParams) => ({ ...before, ...change })) as never,
        replace: true,
      }),
  ];
}
