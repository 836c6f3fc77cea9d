import type { Measured, ProjectSession } from '@angelia/event-log';
import {
  isAgentTool,
  type Measure,
  type Milestone,
  measure,
  projectSession,
  type StreamEvent,
} from '@angelia/session';
import { upcast } from '@angelia/sessions';
import { metrics } from './catalogue.ts';

/**
 * What happened to sessions, counted off the log: one more thing that is projected from it. Whoever leads the
 * projection sees every event once, with the session before and after it and the log's own times, so that what is
 * counted is right whichever process did it and whatever was killed meanwhile.
 */
export type LogMeasure = Measured & Measure;

export function projectAndMeasure(
  previous: unknown,
  events: readonly StreamEvent[],
): ReturnType<typeof projectSession> & { readonly measured: readonly LogMeasure[] } {
  const measured: LogMeasure[] = [];
  const views = projectSession(previous, events, (before, event, after) => {
    for (const said of measure(before, event, after)) measured.push({ ...said, version: event.version });
  });
  return { ...views, measured };
}

/** The views, and what their events say to somebody who counts. */
export const projectAndMeasureViews: ProjectSession = (state, events) =>
  projectAndMeasure(
    state,
    events.map((event) => upcast(event)),
  );

const waits = {
  started: metrics.timeToStart,
  'first-status': metrics.timeToFirstStatus,
  final: metrics.timeToFinal,
  delivered: metrics.timeToDelivered,
} as const satisfies Record<Milestone, unknown>;

export function count(said: Measure): void {
  switch (said.what) {
    case 'waited':
      waits[said.until].observe({ route: said.route }, said.ms / 1000);
      break;
    case 'run-ended':
      metrics.runs.add({ agent: said.agent, outcome: said.outcome });
      metrics.runSeconds.observe({ agent: said.agent }, said.ms / 1000);
      break;
    case 'turn-failed':
      metrics.turnsFailed.add({ code: said.code });
      break;
    case 'step':
      metrics.steps.add({ agent: said.agent, outcome: said.outcome });
      break;
    case 'tokens':
      metrics.tokens.add({ model: said.model, direction: 'input' }, said.input);
      metrics.tokens.add({ model: said.model, direction: 'output' }, said.output);
      break;
    case 'tool-ended': {
      const tool = toolKind(said.tool);
      metrics.toolCalls.add({ tool, outcome: said.outcome });
      if (said.ms !== null) metrics.toolCallSeconds.observe({ tool }, said.ms / 1000);
      break;
    }
    case 'status':
      metrics.statuses.add({ kind: said.kind });
      break;
    case 'delivery': {
      const { target, outcome } = said;
      metrics.deliveries.add({ target, outcome, attempt: said.attempt > 3 ? '4+' : `${said.attempt}` });
      break;
    }
    case 'process-ended':
      metrics.processesEnded.add({ outcome: said.outcome });
      break;
    case 'session-ended':
      metrics.sessionsEnded.add({ route: said.route, outcome: said.outcome });
      break;
  }
}

/** A model may have made the name up. */
function toolKind(name: string): string {
  if (name.startsWith('mcp__')) return 'mcp';
  return isAgentTool(name) ? 'agent' : name;
}
