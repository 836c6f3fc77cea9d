import type { Schema } from '../../api/client.ts';

/** An event of a session. New types and fields may come: what is not known is shown as it is. */
export type SessionEvent = Schema['Event'];

/** The data of an event. Its shape depends on the type and on the version that wrote it, so every field is looked at. */
export class EventData {
  readonly #data: Readonly<Record<string, unknown>>;

  constructor(event: SessionEvent) {
    this.#data = typeof event.data === 'object' && event.data !== null ? { ...event.data } : {};
  }

  text(name: string): string | null {
    const value = this.#data[name];
    return typeof value === 'string' ? value : null;
  }

  number(name: string): number | null {
    const value = this.#data[name];
    return typeof value === 'number' ? value : null;
  }

  flag(name: string): boolean {
    return this.#data[name] === true;
  }

  get usage(): { readonly input: number; readonly output: number } | null {
    const usage = this.#data.usage as { input_tokens?: unknown; output_tokens?: unknown } | undefined;
    if (typeof usage?.input_tokens !== 'number' || typeof usage.output_tokens !== 'number') return null;
    return { input: usage.input_tokens, output: usage.output_tokens };
  }
}

export const timeOf = (event: SessionEvent): number => Date.parse(event.recorded_at);

/**
 * The events so far with further ones of the live feed. Null: some are missing in between, so ask for all of them.
 * The same array: nothing was new.
 */
export function withLiveEvents(
  known: readonly SessionEvent[],
  live: readonly SessionEvent[],
): readonly SessionEvent[] | null {
  let last = known.at(-1)?.version ?? 0;
  const fresh: SessionEvent[] = [];
  for (const event of live.toSorted((a, b) => a.version - b.version)) {
    if (event.version <= last) continue;
    if (event.version !== last + 1) return null;
    fresh.push(event);
    last = event.version;
  }
  return fresh.length === 0 ? known : [...known, ...fresh];
}
