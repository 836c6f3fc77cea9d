import type { Measured, ProjectSession } from '@angelia/event-log';
import {
  isAgentTool,
  type Measure,
  type Milestone,
  measure,
  projectSession,
  type StreamEvent,
  WATCHER_TOOLS,
} from '@angelia/session';
import { upcast } from '@angelia/sessions';
import { metrics } from './catalogue.ts';

/**
 * What happened to sessions, counted from the log as one more projection of it. The leader of the projection sees every
 * event once, with the session before and after it and the log's own times. So the counts are right whichever process did
 * the work, and whatever was killed meanwhile.
 */
export type RecordedMeasure = Measured & Measure;

function projectAndMeasure(
  previous: unknown,
  events: readonly StreamEvent[],
): ReturnType<typeof projectSession> & { readonly measured: readonly RecordedMeasure[] } {
  const measured: RecordedMeasure[] = [];
  const views = projectSession(previous, events, (before, event, after) => {
    for (const one of measure(before, event, after)) measured.push({ ...one, version: event.version });
  });
  return { ...views, measured };
}

/** Projects the views, and measures the same events. */
export const projectMeasuredViews: ProjectSession = (state, events) =>
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

export function countMeasure(measured: Measure): void {
  switch (measured.what) {
    case 'waited':
      waits[measured.until].observe({ route: measured.route }, measured.ms / 1000);
      break;
    case 'run-ended':
      metrics.runs.add({ agent: measured.agent, outcome: measured.outcome });
      metrics.runSeconds.observe({ agent: measured.agent }, measured.ms / 1000);
      metrics.genAiAgentSeconds.observe(
        { 'gen_ai.agent.name': measured.agent, 'error.type': measured.error ?? '' },
        measured.ms / 1000,
      );
      break;
    case 'turn-failed':
      metrics.turnsFailed.add({ code: measured.code });
      break;
    case 'step':
      metrics.steps.add({ agent: measured.agent, outcome: measured.outcome });
      break;
    case 'tokens':
      metrics.tokens.add({ model: measured.model, direction: 'input' }, measured.input);
      metrics.tokens.add({ model: measured.model, direction: 'output' }, measured.output);
      break;
    case 'tool-ended': {
      const tool = toolKind(measured.tool);
      metrics.toolCalls.add({ tool, outcome: measured.outcome });
      if (measured.ms === null) break;
      metrics.toolCallSeconds.observe({ tool }, measured.ms / 1000);
      metrics.genAiToolSeconds.observe(
        {
          'gen_ai.tool.name': measured.tool,
          'gen_ai.tool.type': WATCHER_TOOLS.includes(measured.tool) ? 'function' : 'extension',
          'gen_ai.agent.name': measured.agent,
          'error.type': TOOL_ERRORS[measured.outcome],
        },
        measured.ms / 1000,
      );
      break;
    }
    case 'approval':
      metrics.approvalSeconds.observe({ outcome: measured.outcome }, measured.ms / 1000);
      break;
    case 'status':
      metrics.statuses.add({ kind: measured.kind });
      break;
    case 'delivery': {
      const { target, outcome } = measured;
      metrics.deliveries.add({
        target,
        outcome,
        attempt: measured.attempt > 3 ? '4+' : `${measured.attempt}`,
      });
      break;
    }
    case 'process-ended':
      metrics.processesEnded.add({ outcome: measured.outcome });
      break;
    case 'session-ended':
      metrics.sessionsEnded.add({ route: measured.route, outcome: measured.outcome });
      break;
  }
}

/** `error.type` of a call, as in its span (agent-runner, run-trace.ts). */
const TOOL_ERRORS = { ok: '', error: 'tool_error', unknown: 'unknown' } as const;

/** The kind only: a model may make a name up. */
function toolKind(name: string): string {
  if (name.startsWith('mcp__')) return 'mcp';
  return isAgentTool(name) ? 'agent' : name;
}
