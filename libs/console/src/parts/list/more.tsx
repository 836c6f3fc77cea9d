import { Button } from '../controls/button.tsx';
import { Failed } from '../feedback/states.tsx';
import './list.css';

interface Props {
  /** What the rows are: `deliveries`. */
  readonly what: string;
  readonly shown: number;
  readonly query: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly isFetchNextPageError: boolean;
    readonly error: unknown;
    readonly fetchNextPage: () => unknown;
  };
}

/** The end of a list that comes in pages. */
export function More({ what, shown, query }: Props) {
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
    </div>
  );
}
