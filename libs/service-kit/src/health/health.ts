export type CheckResult =
  | { readonly ok: true; readonly [detail: string]: unknown }
  | { readonly ok: false; readonly reason: string; readonly [detail: string]: unknown };
export type Check = () => CheckResult | Promise<CheckResult>;

export interface Readiness {
  readonly ready: boolean;
  readonly status: 'ready' | 'not ready' | 'draining';
  readonly checks: Readonly<Record<string, CheckResult>>;
}

/** A probe that takes longer than this says no: Kubernetes and the launcher ask every second or two. */
const CHECK_TIMEOUT_MS = 1_500;

/**
 * Alive and ready are two questions. Alive: the event loop answers. Ready: it can do its own job right now, which
 * a service says by named checks; Postgres or NATS being away makes it unready and never dead.
 */
export class Health {
  readonly #checks = new Map<string, Check>();
  #draining = false;
  /** One round of checks at a time serves whoever asks meanwhile: probes must not pile up on a slow database. */
  #underWay: Promise<Readiness> | null = null;

  add(name: string, check: Check): void {
    this.#checks.set(name, check);
  }

  drain(): void {
    this.#draining = true;
  }

  readiness(): Promise<Readiness> {
    this.#underWay ??= this.#look().finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }

  async #look(): Promise<Readiness> {
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
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<CheckResult>((resolve) => {
    timer = setTimeout(
      () => resolve({ ok: false, reason: `no answer within ${CHECK_TIMEOUT_MS} ms` }),
      CHECK_TIMEOUT_MS,
    );
  });
  try {
    return await Promise.race([(async () => check())(), timeout]);
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  } finally {
    clearTimeout(timer);
  }
}
