import { ApiError } from '../../../api/api-error.ts';
import { getSession } from '../../../api/calls/session-calls.ts';
import { api, ask } from '../../../api/client.ts';
import type { ListSearch } from '../filters/session-filters.ts';
import { NO_ROWS, type Rows, rowOf, withHead, without, withPage, withUpdates } from './session-rows.ts';

/** The largest page of the API: scrolling to the end of a long list takes few calls. */
const PAGE = 200;
/** The first rows come sooner with a small page. */
const FIRST_PAGE = 50;
/** Rows in sight that changed are asked for one by one; a screen has fewer. */
const MOST_UPDATES = 40;
const RETRY_MS = 2_000;

export interface ListState {
  readonly list: Rows;
  readonly loading: boolean;
  /** There is nothing more to load. */
  readonly complete: boolean;
  readonly error: unknown;
}

/** Loads the pages of one list of sessions and keeps it up. It lives as long as its filters are shown. */
export class ListLoader {
  readonly search: ListSearch;
  #state: ListState = { list: NO_ROWS, loading: false, complete: false, error: null };
  #cursor: string | null = null;
  #refreshing = false;
  #refreshAgain = false;
  #retry: ReturnType<typeof setTimeout> | null = null;
  #generation = 0;
  readonly #listeners = new Set<() => void>();

  constructor(search: ListSearch) {
    this.search = search;
  }

  get state(): ListState {
    return this.#state;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Nothing is shown any more: stop asking. What was loaded stays, for a reader who comes back. */
  pause(): void {
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = null;
  }

  /** The next page, unless it is on its way. A page may be empty and not the last one. */
  async loadMore(): Promise<void> {
    if (this.#state.loading || this.#state.complete) return;
    const generation = this.#generation;
    this.#set({ loading: true });
    try {
      const { items, next_cursor } = await this.#page(
        this.#cursor,
        this.#cursor === null ? FIRST_PAGE : PAGE,
      );
      if (generation !== this.#generation) return;
      this.#cursor = next_cursor;
      this.#set({
        list: withPage(this.#state.list, items.map(rowOf)),
        loading: false,
        complete: next_cursor === null,
        error: null,
      });
      if (items.length === 0) await this.loadMore();
    } catch (error) {
      if (generation !== this.#generation) return;
      this.#set({ loading: false, error });
      if (error instanceof ApiError && error.passes)
        this.#retry = setTimeout(() => void this.loadMore(), RETRY_MS);
    }
  }

  /** Everything from the beginning. */
  async reload(): Promise<void> {
    this.#generation += 1;
    this.#cursor = null;
    this.#set({ list: NO_ROWS, loading: false, complete: false, error: null });
    await this.loadMore();
  }

  /** Something happened: look at the newest sessions again. One look at a time, and one more if something came meanwhile. */
  async refreshHead(atTop: () => boolean): Promise<void> {
    if (this.search.sort !== undefined || this.#state.list.rows.length === 0) {
      if (this.#state.list.rows.length === 0 && !this.#state.loading) await this.reload();
      return;
    }
    if (this.#refreshing) {
      this.#refreshAgain = true;
      return;
    }
    this.#refreshing = true;
    const generation = this.#generation;
    try {
      const { items } = await this.#page(null, FIRST_PAGE);
      if (generation === this.#generation)
        this.#set({ list: withHead(this.#state.list, items.map(rowOf), atTop()) });
    } catch {
      // The next event, or the feed when it is back, asks again.
    } finally {
      this.#refreshing = false;
    }
    if (this.#refreshAgain) {
      this.#refreshAgain = false;
      await this.refreshHead(atTop);
    }
  }

  /** Rows that changed and that the newest page does not have. */
  async refreshRows(ids: readonly string[]): Promise<void> {
    const gone = new Set<string>();
    const found = await Promise.all(
      ids.slice(0, MOST_UPDATES).map((id) =>
        getSession(id).catch((error: unknown) => {
          if (error instanceof ApiError && error.status === 404) gone.add(id);
          return null;
        }),
      ),
    );
    const rows = found.filter((session) => session !== null).map(rowOf);
    this.#set({ list: without(withUpdates(this.#state.list, rows), gone) });
  }

  /** Shows what waits above the first row. */
  showNewer(): void {
    this.#set({ list: withHead(this.#state.list, [], true) });
  }

  forget(ids: ReadonlySet<string>): void {
    this.#set({ list: without(this.#state.list, ids) });
  }

  #page(cursor: string | null, limit: number) {
    const query = { ...this.search, limit, ...(cursor === null ? {} : { cursor }) };
    // The names and values were checked when they were read from the address.
    return ask(api.GET('/v1/sessions', { params: { query: query as object } }));
  }

  #set(change: Partial<ListState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}
