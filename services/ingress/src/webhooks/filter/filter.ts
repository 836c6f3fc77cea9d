import { ValueFileUnreadable } from '@angelia/config';
import type { Logger } from '@angelia/service-kit';
import { Refusal } from '../../http/refusal.ts';
import type { Admitted } from '../admit/admit.ts';
import type { Received } from '../receive/receive.ts';

/** Time for somebody to put a missing watch list back. */
const RETRY_AFTER_SECONDS = 30;

/**
 * Step 4: whether the route's filters let this webhook pass.
 *
 * @returns null if they do, else why not, for the operator
 * @throws Refusal 503 if a file of `in_file` is gone, because neither yes nor no would follow the config; 413 if a value
 *   is too long for a pattern
 */
export function filterRefusal(
  { route: { filter }, headers }: Received,
  { payload, event }: Admitted,
  logger: Pick<Logger, 'warn'>,
): string | null {
  if (filter === null) return null;
  try {
    return filter({ payload, event, headers });
  } catch (error) {
    if (!(error instanceof ValueFileUnreadable)) throw error;
    logger.warn({ err: error }, 'cannot evaluate a filter; its file is unreadable');
    throw new Refusal(
      503,
      error.code,
      'a file that the filters of this route need cannot be read: send it again later',
      RETRY_AFTER_SECONDS,
    );
  }
}
