import { LATE, within } from '@angelia/waiting';

export type CheckResult =
  | { readonly ok: true; readonly [detail: string]: unknown }
  | { readonly ok: false; readonly reason: string; readonly [detail: string]: unknown };
type Check = () => CheckResult | Promise<CheckResult>;

interface Readiness {
  readonly ready: boolean;
  readonly status: 'ready' | 'not ready' | 'draining';
  readonly checks: Readonly<Record<string, CheckResult>>;
}

/** A check that takes longer than this has failed: Kubernetes and the launcher ask every second or two. */
const CHECK_TIMEOUT_MS = 1_500;

/**
 * Alive and ready are two questions. Alive: the event loop answers. Ready: the service can do its own job right now, by its
 * named checks. Without Postgres or NATS a service is not ready, but it is alive.
 */
export class Health {
  readonly #checks = new Map<string, Check>();
  #draining = false;
  /** One round of checks at a time serves all probes that ask meanwhile: they must not pile up on a slow database. */
  #inFlight: Promise<Readiness> | null = null;

  add(name: string, check: Check): void {
    this.#checks.set(name, check);
  }

  drain(): void {
    this.#draining = true;
  }

  readiness(): Promise<Readiness> {
    this.#inFlight ??= this.#check().finally(() => {
      this.#inFlight = null;
    });
    return this.#inFlight;
  }

  async #check(): Promise<Readiness> {
    const results = await Promise.all(
      [...this.#checks].map(async ([name, check]) => [name, await bounded(check)] as const),
    );
    const allOk = results.every(([, result]) => result.ok);
    return {
      ready: allOk && !this.#draining,
      status: this.#draining ? 'draining' : allOk ? 'ready' : 'not ready',
      checks: Object.fromEntries(results),
    };
  }
}

async function bounded(check: Check): Promise<CheckResult> {
  try {
    const result = await within(CHECK_TIMEOUT_MS, (async () => check())());
    return result === LATE ? { ok: false, reason: `no answer within ${CHECK_TIMEOUT_MS} ms` } : result;
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}
