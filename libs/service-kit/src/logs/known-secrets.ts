import { scrubber } from '@angelia/config';

/**
 * Far more than a config has. A key that is rotated every hour reaches it after weeks; then the oldest values, which
 * nothing uses any more, are forgotten (invariant bounded).
 */
const MOST_SECRETS = 2_000;

/** The secrets that neither logs nor spans may show. A new config adds its own; work that began before may still show the old ones. */
export class KnownSecrets {
  readonly #values = new Set<string>();
  #scrub: (text: string) => string = (text) => text;

  constructor(secrets: Iterable<string> = []) {
    this.add(secrets);
  }

  add(secrets: Iterable<string>): void {
    for (const secret of secrets) {
      this.#values.delete(secret);
      this.#values.add(secret);
    }
    for (const oldest of this.#values) {
      if (this.#values.size <= MOST_SECRETS) break;
      this.#values.delete(oldest);
    }
    this.#scrub = scrubber(this.#values);
  }

  scrub(text: string): string {
    return this.#scrub(text);
  }
}
