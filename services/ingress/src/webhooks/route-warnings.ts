import type { Logger } from '@angelia/service-kit';

/** Warnings for the operator about a route: each once per route and process, because a request cannot change them. */
export class RouteWarnings {
  readonly #logger: Pick<Logger, 'warn'>;
  readonly #given = new Set<string>();

  constructor(logger: Pick<Logger, 'warn'>) {
    this.#logger = logger;
  }

  weakScheme(route: string, weakness: string): void {
    this.#once(`scheme ${route}`, route, weakness);
  }

  incompleteKey(route: string): void {
    this.#once(
      `key ${route}`,
      route,
      'a payload lacks a part of the key in `session_key` or `coalesce`; such webhooks get their own session',
    );
  }

  #once(about: string, route: string, message: string): void {
    if (this.#given.has(about)) return;
    this.#given.add(about);
    this.#logger.warn({ route }, message);
  }
}
