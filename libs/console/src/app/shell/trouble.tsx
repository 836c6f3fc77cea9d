import { notifyManager, useQueryClient } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';
import { messageOf } from '../../api/api-error.ts';
import { Icon } from '../../parts/controls/icon.tsx';
import { queryTrouble } from './query-trouble.ts';

/** Calls are repeated until they succeed. Without this, a gateway that fails looks like one that is slow. */
export function Trouble() {
  const cache = useQueryClient().getQueryCache();
  const error = useSyncExternalStore(
    useCallback((listener) => cache.subscribe(notifyManager.batchCalls(listener)), [cache]),
    () => queryTrouble(cache.getAll()),
  );
  return (
    <div role="status">
      {error !== null && (
        <p className="trouble">
          <Icon name="warning" />
          <span>Some of this page is old or missing. The page keeps trying. {messageOf(error)}</span>
        </p>
      )}
    </div>
  );
}
