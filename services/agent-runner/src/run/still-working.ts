import type { Logger } from '@angelia/service-kit';
import { isAgentTool, type OpenTurn } from '@angelia/session';
import { LONGEST_TIMER_MS } from '@angelia/waiting';
import { type Run, RunOver } from './claimed-run.ts';

/**
 * Reports at an interval that the work goes on, until the returned function is called. A session has one such timer, that
 * of its open run: the log refuses statuses of an older generation. A turn that waits in the queue has no run and so no
 * timer (C12).
 */
export function reportStillWorking(
  run: Pick<Run, 'loaded' | 'turn' | 'sessionId' | 'reportStatus' | 'assertHeld'>,
  everySeconds: number,
  logger: Pick<Logger, 'warn'>,
): () => void {
  if (everySeconds === 0) return () => {};
  const { run: open } = run.loaded.state;
  const first = turnOf(run)?.startedAt;
  // Both are by the database's clock. The time since then is measured by ours, which need not agree with it.
  const earlierMs = open && first != null ? Math.max(0, open.startedAt - first) : 0;
  const startedAt = performance.now();
  let reporting = false;

  const report = async () => {
    const turn = turnOf(run);
    // If the last one is still on its way (Postgres is slow or away), a second would come right behind it.
    if (reporting || turn === undefined) return;
    reporting = true;
    try {
      run.assertHeld();
      await run.reportStatus('progress', statusText(turn, earlierMs + performance.now() - startedAt));
    } catch (error) {
      if (error instanceof RunOver || isStop(error)) return;
      logger.warn({ err: error, session_id: run.sessionId }, 'interim status not recorded');
    } finally {
      reporting = false;
    }
  };
  const timer = setInterval(() => void report(), Math.min(everySeconds * 1000, LONGEST_TIMER_MS)).unref();
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
  // The agent is a program or a service of its own: we do not know its steps.
  if (turn.calls.some((call) => isAgentTool(call.tool))) return `Still working... (${elapsed})`;
  const doing = tools.length > 0 ? [...new Set(tools)].join(', ') : 'thinking';
  // A step is what the model says and then does. While it thinks, the next step has begun.
  const step = tools.length > 0 ? turn.step : turn.step + 1;
  return `Still working... (${elapsed}, step ${step}: ${doing})`;
}

/** The error is the `signal.reason` of a run that was stopped. */
function isStop(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'kind' in error;
}
