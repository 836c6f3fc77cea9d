import type { EventData } from '@angelia/contracts';
import type { OpenCall, SessionState, StateDraft } from '../state.ts';
import { changeTurn, recordProgress, recordSignOfLife } from '../turns/evolve-turns.ts';
import { isAgentTool } from './agent-calls.ts';

export function applyModelResponded(draft: StateDraft, data: EventData<'model.responded'>, at: number): void {
  addUsage(draft, data.usage);
  draft.model = data.model;
  recordProgress(draft, data.turn, at);
  changeTurn(draft, data.turn, () => ({
    step: data.step,
    completing: data.tool_calls.length === 0 && data.to_be_continued !== true,
    putOff: null,
    // Replaces the calls of the previous step. Those without a result are closed: the model went on without them.
    calls: data.tool_calls.map((call) => openCall(call.id, call.name)),
  }));
}

export function applyContextCompressed(
  draft: StateDraft,
  data: EventData<'context.compressed'>,
  at: number,
): void {
  addUsage(draft, data.usage);
  if (draft.run !== null)
    draft.run = { ...draft.run, compressions: data.sequence ?? (draft.run.compressions ?? 0) + 1 };
  recordProgress(draft, data.turn, at);
  changeTurn(draft, data.turn, () => ({ putOff: null }));
}

export function applyToolStarted(draft: StateDraft, data: EventData<'tool.started'>, at: number): void {
  addAgentCall(draft, data);
  changeCall(draft, data.turn, data.call_id, {
    status: 'started',
    startedIn: data.generation,
    startedAt: at,
    waitsFor: data.waits_for ?? null,
  });
  recordSignOfLife(draft, data.turn, at);
}

export function applyToolFinished(draft: StateDraft, data: EventData<'tool.finished'>, at: number): void {
  changeCall(draft, data.turn, data.call_id, { status: 'done' });
  draft.watcher = data.watcher ?? draft.watcher ?? null;
  recordProgress(draft, data.turn, at);
  // The agent was asked, failed, and has answered by its callback nevertheless: there is nothing to wait for.
  if (isAgentTool(data.tool)) changeTurn(draft, data.turn, () => ({ putOff: null }));
}

export function changeCall(draft: StateDraft, turn: number, callId: string, change: Partial<OpenCall>): void {
  changeTurn(draft, turn, ({ calls }) => ({
    calls: calls.map((call) => (call.id === callId ? { ...call, ...change } : call)),
  }));
}

/** No model asked for the call of an agent, so no earlier event added it to the turn. */
function addAgentCall(draft: StateDraft, { call_id, tool, turn }: EventData<'tool.started'>): void {
  if (!isAgentTool(tool)) return;
  changeTurn(draft, turn, ({ calls }) =>
    calls.some(({ id }) => id === call_id) ? {} : { calls: [...calls, openCall(call_id, tool)] },
  );
}

function openCall(id: string, tool: string): OpenCall {
  return { id, tool, status: 'asked', startedIn: null, startedAt: null };
}

function addUsage(draft: StateDraft, used: SessionState['usage']): void {
  draft.usage = {
    input_tokens: draft.usage.input_tokens + used.input_tokens,
    output_tokens: draft.usage.output_tokens + used.output_tokens,
  };
}
