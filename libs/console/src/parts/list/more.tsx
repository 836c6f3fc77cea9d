import { type QueryKey, useQueryClient } from '@tanstack/react-query';
import { Button } from '../controls/button.tsx';
import { Failed } from '../feedback/states.tsx';
import './list.css';

interface Props {
  /** What the rows are: `deliveries`. */
  readonly what: string;
  readonly shown: number;
  /** Of the list, if it follows the live feed: it stands still while many pages are shown. */
  readonly liveKey?: QueryKey;
  readonly query: {
    readonly data: { readonly pages: readonly unknown[] } | undefined;
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly isFetchNextPageError: boolean;
    readonly error: unknown;
    readonly fetchNextPage: () => unknown;
  };
}

/** More pages than this are not asked for again at every event, and a list that somebody reads far down must not move. */
const MOST_LIVE_PAGES = 3;

/** Whether a list in pages follows the live feed. */
export const isLive = (data: { readonly pages: readonly unknown[] } | undefined): boolean =>
  (data?.pages.length ?? 0) <= MOST_LIVE_PAGES;

/** The end of a list that comes in pages. */
export function More({ what, shown, liveKey, query }: Props) {
  const queries = useQueryClient();
  if (query.isFetchNextPageError)
    return <Failed error={query.error} retry={() => void query.fetchNextPage()} />;
  return (
    <div className="list-end">
      {query.hasNextPage ? (
        <Button busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          Show more {what}
        </Button>
      ) : (
        shown > 10 && <span>All {shown} are shown.</span>
      )}
      {liveKey !== undefined && !isLive(query.data) && (
        <>
          <span>With this many rows, the list is not updated.</span>
          <Button onClick={() => void queries.resetQueries({ queryKey: liveKey })}>Show the latest</Button>
        </>
      )}
    </div>
  );
}
