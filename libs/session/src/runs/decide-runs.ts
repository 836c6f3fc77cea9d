import type { EventData, ToolCall } from '@angelia/contracts';
import { accept, alreadySo, type Decision, fact, refuse } from '../decision.ts';
import { withEnd } from '../ending/decide-ending.ts';
import { fence, open } from '../guards.ts';
import { waitsFor } from '../processes/decide-processes.ts';
import type { SessionState } from '../state.ts';

/**
 * Runs: attempts at the first turn of the queue, one at a time (invariant single-owner).
 *
 *   (none) --run.started n--> open(n)
 *   open(n) --run.started n+1, takeover--> open(n+1)     n's lease expired; whatever n still wants is refused
 *   open(n) --model.responded--> open(n)                 with tool calls: each goes asked -> started -> done
 *   open(n) --run.interrupted--> (none)                  resumed by `recover`, not counted as an attempt
 *   open(n) --clarification.requested--> (none)          the session waits without holding a runner
 *   open(n) --final-response--> (none)                   answered; with `run.failed` before it when it failed
 *   open(n) --run.cancelled--> (none)
 *
 * Each step is an event, so that another runner can go on after the last one. A call that was begun and has no result
 * is never begun again (C14): its result may still come from the watcher, or the model is told that it is unknown.
 */
export interface StartRun {
  readonly type: 'start-run';
  /** The generation to open: `state.generation + 1`. Naming it makes a repeated command harmless. */
  readonly generation: number;
  readonly turn: number;
  readonly runner: string;
  readonly resumed: boolean;
  readonly attempt: number;
  /** The lease of the open run is expired (judged by the database's clock): take its place. */
  readonly takeover: boolean;
}

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
  /** Null: from the watcher, whose results outlive the run that asked for them. */
  readonly generation: number | null;
  readonly callId: string;
  readonly outcome: EventData<'tool.finished'>['outcome'];
  readonly result: string;
  /** The watcher's instance, where one carried it out. */
  readonly watcher?: string;
}

export interface InterruptRun {
  readonly type: 'interrupt-run';
  readonly generation: number;
  readonly reason: EventData<'run.interrupted'>['reason'];
  /** How long ago the work stopped, where it could not be said at once. */
  readonly silentSeconds?: number;
}

export interface FailRun {
  readonly type: 'fail-run';
  readonly generation: number;
  /** Stable, e.g. `models_failed`, `timeout`, `max_steps`, `budget`, `agent_missing`. */
  readonly code: string;
  /** For the operator; no secrets. */
  readonly message: string;
  /** What the user reads: one sentence, without the raw error. */
  readonly text: string;
}

/** Said when a failure comes without a sentence: it must not be silent. */
const FAILED = 'Sorry, this could not be finished because of an error.';

export function startRun(state: SessionState, command: StartRun): Decision {
  const closed = open(state);
  if (closed !== null) return closed;
  if (command.generation !== state.generation + 1) {
    return refuse(
      'stale_generation',
      `the next generation is ${state.generation + 1}, not ${command.generation}`,
    );
  }
  if (state.clarification !== null) return refuse('waiting_for_answer', 'the question has no answer yet');
  if (state.run !== null && !command.takeover) {
    return refuse('run_open', `generation ${state.run.generation} is at work (${state.run.runner})`);
  }
  const head = state.turns[0];
  if (head === undefined || head.turn !== command.turn) {
    return refuse('not_next_turn', head ? `turn ${head.turn} is next` : 'no turn is waiting');
  }
  return accept(
    fact('run.started', {
      generation: command.generation,
      turn: command.turn,
      runner: command.runner,
      resumed: command.resumed,
      attempt: command.attempt,
    }),
  );
}

export function recordModelResponse(state: SessionState, command: RecordModelResponse): Decision {
  const held = fence(state, command.generation);
  if (!held.ok) return held;
  const { run, turn } = held;
  if (command.step <= turn.step) return alreadySo;
  if (command.step > turn.step + 1) {
    return refuse('step_gap', `step ${turn.step + 1} of turn ${turn.turn} is next, not ${command.step}`);
  }
  const underWay = turn.calls.find((call) => call.status === 'started' && call.startedIn === run.generation);
  if (underWay !== undefined) return refuse('tools_open', `call ${underWay.id} has no result yet`);
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
    }),
  );
}

export function startTool(state: SessionState, command: StartTool): Decision {
  const held = fence(state, command.generation);
  if (!held.ok) return held;
  const { run, turn } = held;
  const call = turn.calls.find((asked) => asked.id === command.callId);
  if (call === undefined) return refuse('unknown_call', `the model did not ask for call ${command.callId}`);
  if (call.status === 'done' || call.status === 'waiting') {
    return refuse('call_closed', `call ${call.id} is over`);
  }
  if (call.status === 'started') {
    return call.startedIn === run.generation
      ? alreadySo
      : refuse('call_started', `generation ${call.startedIn} began call ${call.id}: its outcome is unknown`);
  }
  return accept(
    fact('tool.started', {
      generation: run.generation,
      turn: turn.turn,
      call_id: call.id,
      tool: command.tool,
      arguments: command.arguments,
      waits_for: waitsFor(command.tool, command.arguments),
    }),
  );
}

export function finishTool(state: SessionState, command: FinishTool): Decision {
  const held = command.generation === null ? open(state) : fence(state, command.generation);
  if (held !== null && !held.ok) return held;
  // Calls belong to the turn under way; of an answered or cancelled one nobody waits for a result.
  const turn = state.turns[0];
  const call = turn?.calls.find((asked) => asked.id === command.callId);
  if (turn === undefined || call === undefined) {
    return refuse('call_closed', `call ${command.callId} is not open`);
  }
  if (call.status === 'done') return alreadySo;
  if (call.status === 'waiting') return refuse('call_closed', `call ${call.id} waits for an answer`);
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
      watcher: command.watcher ?? null,
    }),
  );
}

export function interruptRun(state: SessionState, command: InterruptRun): Decision {
  const held = fence(state, command.generation);
  if (!held.ok) return held;
  return accept(
    fact('run.interrupted', {
      generation: held.run.generation,
      turn: held.turn.turn,
      reason: command.reason,
      silent_seconds: Math.max(0, command.silentSeconds ?? 0),
    }),
  );
}

export function failRun(state: SessionState, command: FailRun): Decision {
  const held = fence(state, command.generation);
  if (!held.ok) return held;
  const generation = held.run.generation;
  const turn = held.turn.turn;
  return withEnd(state, [
    fact('run.failed', { generation, turn, code: command.code, message: command.message }),
    fact('session.final-response', {
      generation,
      turn,
      text: command.text.trim() === '' ? FAILED : command.text,
      outcome: 'failed',
      silent: false,
    }),
  ]);
}
