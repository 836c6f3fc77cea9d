import type { ConnectionPool } from '../connection/connection-pool.ts';
import { prepare, queries } from '../connection/query-builder.ts';
import { VIEWS_VERSION } from '../connection/schema.ts';
import { ViewsOutdated } from '../errors.ts';

const ACTIVE_VERSION = prepare('active_views_version', () =>
  queries
    .selectFrom('angelia.view_builds')
    .select('version')
    .where((where) => where.ref('active')),
);

/** For readers of columns and indexes that views of earlier versions lack. A wrong answer would be worse than a late one. */
export class ViewsVersion {
  readonly #pool: ConnectionPool;
  /** Once true it stays true: only a program of an earlier version makes old views again. */
  #isCurrent = false;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  /** @throws ViewsOutdated */
  async check(): Promise<void> {
    if (this.#isCurrent) return;
    if ((await this.read()) < VIEWS_VERSION) {
      throw new ViewsOutdated('the views of an earlier version are being rebuilt: try again in a while');
    }
    this.#isCurrent = true;
  }

  async read(): Promise<number> {
    return (await this.#pool.runPrepared(ACTIVE_VERSION, {}))[0]?.version ?? 0;
  }
}
