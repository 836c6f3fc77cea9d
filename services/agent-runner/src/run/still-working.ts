import type { Logger } from '@angelia/service-kit';
import { isAgentTool, type OpenTurn } from '@angelia/session';
import { LONGEST_TIMER_MS } from '@angelia/waiting';
import { NotOurs, type Run } from './claimed-run.ts';

/**
 * Says now and then that the work goes on, until the returned function is called. A session has one such timer: it is
 * its open run's, and what an older generation would still say is refused by the log. A turn that waits in the queue
 * has no run and so no timer (C12).
 */
export function stillWorking(
  run: Pick<Run, 'loaded' | 'turn' | 'sessionId' | 'say' | 'assertHeld'>,
  everySeconds: number,
  logger: Pick<Logger, 'warn'>,
): () => void {
  if (everySeconds === 0) return () => {};
  const { run: open } = run.loaded.state;
  const first = turnOf(run)?.startedAt;
  // Both by the database's clock. The time since then is taken by ours, which need not agree with it.
  const earlierMs = open && first != null ? Math.max(0, open.startedAt - first) : 0;
  const begun = performance.now();
  let saying = false;

  const say = async () => {
    const turn = turnOf(run);
    // The last one is still on its way (Postgres is slow or away): a second would only come right behind it.
    if (saying || turn === undefined) return;
    saying = true;
    try {
      run.assertHeld();
      await run.say('progress', statusText(turn, earlierMs + performance.now() - begun));
    } catch (error) {
      if (error instanceof NotOurs || isStop(error)) return;
      logger.warn({ err: error, session_id: run.sessionId }, 'a status was not recorded');
    } finally {
      saying = false;
    }
  };
  const timer = setInterval(() => void say(), Math.min(everySeconds * 1000, LONGEST_TIMER_MS)).unref();
  return () => clearInterval(timer);
}

function turnOf(run: Pick<Run, 'loaded' | 'turn'>): OpenTurn | undefined {
  return run.loaded.state.turns.find((open) => open.turn === run.turn);
}

/** `Still working... (6 min, step 4: terminal)` */
export function statusText(turn: Pick<OpenTurn, 'step' | 'calls'>, elapsedMs: number): string {
  const minutes = Math.floor(elapsedMs / 60_000);
  const elapsed = minutes === 0 ? 'less than a minute' : `${minutes} min`;
  const tools = turn.calls
    .filter((call) => call.status === 'started' && !isAgentTool(call.tool))
    .map((call) => call.tool);
  // The agent is a program or a service of its own: its steps are not ours to know.
  if (turn.calls.some((call) => isAgentTool(call.tool))) return `Still working... (${elapsed})`;
  const doing = tools.length > 0 ? [...new Set(tools)].join(', ') : 'thinking';
  // A step is what the model says and then does: while it thinks, the next has begun.
  const step = tools.length > 0 ? turn.step : turn.step + 1;
  return `Still working... (${elapsed}, step ${step}: ${doing})`;
}

/** `signal.reason` of a run: it is stopped by somebody who knows why. */
function isStop(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'kind' in error;
}
