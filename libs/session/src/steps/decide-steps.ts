import type { EventData, ToolCall } from '@angelia/contracts';
import { permissionOf } from '../approvals/permission.ts';
import { accept, alreadyDone, type Decision, fact, refuse } from '../decision.ts';
import { refuseUnlessOpen, requireOpenRun } from '../guards.ts';
import { waitsFor } from '../processes/decide-processes.ts';
import type { SessionState } from '../state.ts';

/**
 * The steps of a run: model answers and the tool calls that they ask for.
 *
 *   model.responded with tool calls; each call: asked --tool.started--> started --tool.finished--> done
 *   asked --clarification.requested--> waiting --answered | timed-out | superseded--> done
 *   asked --approval.requested--> waiting --approved--> asked, and may start | denied | expired--> done
 *
 * Each step is an event, so that another runner can continue after the last one. A call that was started and has no
 * result is never started again (C14). Its result may still come from the watcher; if not, the model is told that the
 * outcome is unknown.
 */
export interface RecordModelResponse {
  readonly type: 'record-model-response';
  readonly generation: number;
  /** The step of the turn: one more than the last recorded one. */
  readonly step: number;
  readonly model: string;
  readonly text: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly finishReason: string;
  readonly usage: EventData<'model.responded'>['usage'];
  readonly reasoning?: EventData<'model.responded'>['reasoning'];
  /** The answer was cut, and the next step goes on with it. */
  readonly toBeContinued?: boolean;
  readonly durationMs?: number;
}

export interface StartTool {
  readonly type: 'start-tool';
  readonly generation: number;
  readonly callId: string;
  readonly tool: string;
  readonly arguments: string;
}

export interface FinishTool {
  readonly type: 'finish-tool';
  /** Null: from the watcher. Its results are accepted even after the run that asked for them is gone. */
  readonly generation: number | null;
  readonly callId: string;
  readonly outcome: EventData<'tool.finished'>['outcome'];
  readonly result: string;
  readonly images?: EventData<'tool.finished'>['images'];
  /** The instance of the watcher, if one carried out the call. */
  readonly watcher?: string;
}

export function recordModelResponse(state: SessionState, command: RecordModelResponse): Decision {
  const held = requireOpenRun(state, command.generation);
  if (!held.ok) return held;
  const { run, turn } = held;
  if (command.step <= turn.step) return alreadyDone;
  if (command.step > turn.step + 1) {
    return refuse('step_gap', `step ${turn.step + 1} of turn ${turn.turn} is next, not ${command.step}`);
  }
  const inFlight = turn.calls.find((call) => call.status === 'started' && call.startedIn === run.generation);
  if (inFlight !== undefined) return refuse('tools_open', `call ${inFlight.id} has no result yet`);
  return accept(
    fact('model.responded', {
      generation: run.generation,
      turn: turn.turn,
      step: command.step,
      model: command.model,
      text: command.text,
      tool_calls: [...(command.toolCalls ?? [])],
      finish_reason: command.finishReason,
      usage: command.usage,
      ...(command.reasoning === undefined ? {} : { reasoning: command.reasoning }),
      ...(command.toBeContinued ? { to_be_continued: true } : {}),
      ...(command.durationMs === undefined ? {} : { duration_ms: command.durationMs }),
    }),
  );
}

export function startTool(state: SessionState, command: StartTool): Decision {
  const held = requireOpenRun(state, command.generation);
  if (!held.ok) return held;
  const { run, turn } = held;
  const call = turn.calls.find((asked) => asked.id === command.callId);
  if (call === undefined) return refuse('unknown_call', `the model did not ask for call ${command.callId}`);
  if (call.status === 'done' || call.status === 'waiting') {
    return refuse('call_closed', `call ${call.id} is over`);
  }
  if (call.status === 'started') {
    return call.startedIn === run.generation
      ? alreadyDone
      : refuse(
          'call_started',
          `generation ${call.startedIn} started call ${call.id}: its outcome is unknown`,
        );
  }
  const permission = permissionOf(state, command);
  if (permission.kind === 'denied') return refuse('call_denied', `the policy denies call ${call.id}`);
  if (permission.kind !== 'allowed') {
    return refuse('approval_missing', `call ${call.id} was not approved with these arguments`);
  }
  const { approval } = permission;
  return accept(
    fact('tool.started', {
      generation: run.generation,
      turn: turn.turn,
      call_id: call.id,
      tool: command.tool,
      arguments: command.arguments,
      waits_for: waitsFor(command.tool, command.arguments),
      ...(approval === null ? {} : { approval: { approval_id: approval.id, digest: approval.digest } }),
    }),
  );
}

export function finishTool(state: SessionState, command: FinishTool): Decision {
  const held =
    command.generation === null ? refuseUnlessOpen(state) : requireOpenRun(state, command.generation);
  if (held !== null && !held.ok) return held;
  // Calls belong to the current turn. Nobody waits for a result in an answered or cancelled one.
  const turn = state.turns[0];
  const call = turn?.calls.find((asked) => asked.id === command.callId);
  if (turn === undefined || call === undefined) {
    return refuse('call_closed', `call ${command.callId} is not open`);
  }
  if (call.status === 'done') return alreadyDone;
  if (call.status === 'waiting') return refuse('call_closed', `call ${call.id} waits for a person`);
  if (call.status === 'asked' && command.generation === null) {
    return refuse('unknown_call', `call ${call.id} was not started`);
  }
  return accept(
    fact('tool.finished', {
      turn: turn.turn,
      call_id: call.id,
      tool: call.tool,
      outcome: command.outcome,
      result: command.result,
      ...(command.images === undefined ? {} : { images: command.images }),
      watcher: command.watcher ?? null,
    }),
  );
}
