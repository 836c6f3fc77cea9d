import type { IncomingHttpHeaders } from 'node:http';

/**
 * What a provider itself calls a delivery and its event. Whoever captured a request can send it again with headers
 * of its own choice beside the signed ones: were any of them looked at first, the repeat would be a new delivery, or
 * another event. Headers of others count only where the provider's own name is absent, and not even then where the
 * provider has it in what it signs.
 */
export interface OwnNames {
  /** null: this request has none. */
  readonly id: (request: NamedRequest) => OwnId | null;
  /** The id is part of what is signed: without it, no header stands in. */
  readonly idIsSigned?: true;
  readonly event?: (request: NamedRequest) => string | null;
  /** The event is part of what is signed: without it, no header stands in. */
  readonly eventIsSigned?: true;
}

export interface OwnId {
  readonly text: string;
  /** Several deliveries may have this id; one with the same body is the same. */
  readonly perBody?: true;
}

export interface NamedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly payload: unknown;
}

export const idInHeaders =
  (...names: readonly string[]) =>
  ({ headers }: NamedRequest): OwnId | null => {
    const text = firstHeader(headers, names);
    return text === null ? null : { text };
  };

export const eventInHeader =
  (name: string) =>
  ({ headers }: NamedRequest): string | null =>
    firstHeader(headers, [name]);

/** The first of these headers that says something. */
export function firstHeader(headers: IncomingHttpHeaders, names: readonly string[]): string | null {
  for (const name of names) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') return value;
  }
  return null;
}
