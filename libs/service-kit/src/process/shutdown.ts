import type { Logger } from '../logs/logger.ts';
import type { Drain } from './drain.ts';

/**
 * The steps of a shutdown, in order. Each step needs what the later steps close: a handler needs the bus to ack and the log
 * to append, a participant needs the log to hand its work over.
 */
export interface ShutdownSteps {
  /** The service stops being ready, so that nobody sends new work here. */
  readonly stopBeingReady: () => void;
  /** Stops pulling hints and accepting requests, and waits for those in flight. */
  readonly stopIntake: () => Promise<void>;
  /** Runs Nest's hooks, for providers that have something to close. */
  readonly closeApp: () => Promise<void>;
  /** Gives the leads back, so that another service takes them at once. */
  readonly resign: () => Promise<void>;
  readonly closeBus: () => Promise<void>;
  readonly closeLog: () => Promise<void>;
  readonly closeAdmin: () => Promise<void>;
  readonly flushTelemetry: () => Promise<void>;
}

/**
 * The time limit of each closing step. Also the time that a participant has after the deadline or the second signal, to hand
 * its work over: an append or two. A lost database must not hold the process for longer.
 */
const CLOSING_STEP_MS = 2_000;
/** Handlers claim and return. The hint of one that still runs after this time is redelivered. */
const INTAKE_MS = 5_000;

/**
 * Runs all steps, whatever one of them throws. `hurry` (a second signal) cuts the drain short. Resolves to the names of the
 * steps that failed or were late; each is also logged.
 */
export async function shutDown(
  steps: ShutdownSteps,
  drain: Drain,
  options: { readonly drainSeconds: number; readonly hurry: AbortSignal; readonly logger: Logger },
): Promise<string[]> {
  const { hurry, logger } = options;
  const deadline = Date.now() + options.drainSeconds * 1000;
  const left = (): number =>
    hurry.aborted ? CLOSING_STEP_MS : Math.max(CLOSING_STEP_MS, deadline - Date.now());
  const failures: string[] = [];
  const step = async (
    name: string,
    limitMs: number,
    work: () => Promise<void>,
    stop?: AbortSignal,
  ): Promise<void> => {
    const failure = await bounded(work, limitMs, stop);
    if (failure === null) return;
    failures.push(name);
    logger.warn({ step: name, ...failure }, 'shutdown step failed');
  };

  steps.stopBeingReady();
  drain.begin();
  await step('intake', Math.min(INTAKE_MS, left()), steps.stopIntake, hurry);
  await Promise.all(
    drain.participants.map((participant) =>
      step(`drain ${participant.name}`, left(), () => participant.drain(deadline, hurry), hurry),
    ),
  );
  await step('app', CLOSING_STEP_MS, steps.closeApp);
  await step('resign', CLOSING_STEP_MS, steps.resign);
  await step('bus', CLOSING_STEP_MS, steps.closeBus);
  await step('log', CLOSING_STEP_MS, steps.closeLog);
  await step('telemetry', CLOSING_STEP_MS, steps.flushTelemetry);
  await step('admin', CLOSING_STEP_MS, steps.closeAdmin);
  return failures;
}

async function bounded(
  work: () => Promise<void>,
  limitMs: number,
  stop?: AbortSignal,
): Promise<{ readonly reason: string; readonly err?: unknown } | null> {
  let timer: NodeJS.Timeout | undefined;
  let hurried: (() => void) | undefined;
  const cut = new Promise<{ reason: string }>((resolve) => {
    const late = (): void => resolve({ reason: 'not done in time' });
    timer = setTimeout(late, limitMs);
    hurried = () => {
      clearTimeout(timer);
      timer = setTimeout(late, Math.min(limitMs, CLOSING_STEP_MS));
    };
    if (stop?.aborted) hurried();
    else stop?.addEventListener('abort', hurried, { once: true });
  });
  try {
    return await Promise.race([work().then(() => null), cut]);
  } catch (error) {
    return { reason: 'failed', err: error };
  } finally {
    clearTimeout(timer);
    if (hurried !== undefined) stop?.removeEventListener('abort', hurried);
  }
}
