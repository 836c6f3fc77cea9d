import type { EventData } from '@angelia/contracts';
import { accept, alreadyDone, type Decision, fact, refuse } from '../decision.ts';
import { withEnd } from '../ending/decide-ending.ts';
import { stateAfter } from '../evolve.ts';
import { refuseUnlessOpen } from '../guards.ts';
import { isUntold, type Notice, type NoticeKind, type ProcessState, type SessionState } from '../state.ts';
import { iso } from '../time.ts';
import { markOfTurn } from '../transcript/untrusted-text.ts';
import { turnRequested } from '../turns/decide-turns.ts';
import { matchNotice, noticeText, overloadNotice } from './notices.ts';

/**
 * Background processes (seed 004; invariants no-phantom-turns and exit-is-kept).
 *
 *   (call started) --process.started--> running --matched*--> running
 *   running --exited | lost--> over
 *   running | over --completion-consumed--> the model knows how it ended: no notice follows, a queued one is withdrawn
 *
 * An exit becomes a turn if `notify_on_complete` was set, the exit was not consumed and the session has not ended. The turn
 * that started the process may be long answered: that is what the notice is for. If a call waits for the end, the end is
 * not a turn, whichever of the two comes first:
 *
 *   tool.started (waits_for) --exited--> untold --completion-consumed, tool.finished--> known, no turn
 *                                        untold --the call closes without telling the model--> turn.requested, once
 *   exited + turn.requested --tool.started--> the notice stays in the queue, behind the turn that waits
 *                           --completion-consumed--> withdrawn before a run can start it
 *
 * The call closes when it times out, when its run or its watcher is gone and the model is told that the outcome is
 * unknown, or together with its turn. Whatever closes it also decides about the notice (`withNotices`).
 *
 * A match becomes a turn only while the turn that started the process is the current one: it is not answered, its last
 * model answer is not the final one, and no message or webhook is queued behind it. While a notice about a match is
 * queued, further matches of that process are recorded and start nothing. The fact and its turn are one append: a crash
 * in between cannot make a second turn (E7), and a report that arrives twice counts once.
 */
export interface RecordProcessStarted {
  readonly type: 'process-started';
  readonly processId: string;
  /** The `terminal` call that started it. */
  readonly callId: string;
  readonly command: string;
  readonly host: string;
  readonly bootId: string;
  readonly pid: number;
  readonly pidStartTime: string;
  readonly cwd: string;
  readonly notifyOnComplete?: boolean;
  readonly watchPatterns?: readonly string[];
  readonly waitDeadline?: number | null;
  readonly watcher?: string;
}

export interface RecordProcessMatched {
  readonly type: 'process-matched';
  readonly processId: string;
  /** The number of the match (`process.matches + 1`). */
  readonly match: number;
  readonly pattern: string;
  readonly line: string;
  readonly overload?: boolean;
}

export interface RecordProcessExited {
  readonly type: 'process-exited';
  readonly processId: string;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly durationSeconds: number;
  readonly outputTail: string;
  /** Why we ended it, if we did. */
  readonly reason?: string | null;
}

export interface RecordProcessLost {
  readonly type: 'process-lost';
  readonly processId: string;
  readonly reason: string;
  readonly outputTail?: string;
}

export interface ConsumeCompletion {
  readonly type: 'consume-completion';
  readonly processId: string;
  readonly by: EventData<'process.completion-consumed'>['by'];
}

/** Somebody outside asks for it, and the watcher ends the process. The session learns of the end like of any other. */
export interface RequestKill {
  readonly type: 'request-kill';
  readonly processId: string;
  readonly by: string;
}

export function processStarted(state: SessionState, command: RecordProcessStarted): Decision {
  if (findProcess(state, command.processId) !== undefined) return alreadyDone;
  const refusal = refuseUnlessOpen(state);
  if (refusal !== null) return refusal;
  // Like the result of a tool, this is accepted from the watcher while the call is open, even if another run has taken
  // over. Otherwise the watcher ends the process that it started, because nobody would know of it.
  const turn = state.turns[0];
  const call = turn?.calls.find((asked) => asked.id === command.callId);
  if (turn === undefined || call === undefined || call.status !== 'started' || call.startedIn === null) {
    return refuse('call_closed', `call ${command.callId} is not open`);
  }
  return accept(
    fact('process.started', {
      process_id: command.processId,
      generation: call.startedIn,
      turn: turn.turn,
      call_id: call.id,
      command: command.command,
      host: command.host,
      boot_id: command.bootId,
      pid: command.pid,
      pid_start_time: command.pidStartTime,
      cwd: command.cwd,
      notify_on_complete: command.notifyOnComplete ?? false,
      watch_patterns: [...(command.watchPatterns ?? [])],
      wait_deadline: command.waitDeadline == null ? null : iso(command.waitDeadline),
      watcher: command.watcher ?? null,
    }),
  );
}

export function processMatched(state: SessionState, command: RecordProcessMatched): Decision {
  const process = findProcess(state, command.processId);
  if (process === undefined) return unknownProcess(command.processId);
  // Nothing follows the exit, and each match counts once.
  if (process.status !== 'running' || command.match <= process.matches) return alreadyDone;
  const overload = command.overload ?? false;
  const matched = fact('process.matched', {
    process_id: process.processId,
    match: command.match,
    pattern: command.pattern,
    line: command.line,
    overload,
  });
  const kind = overload ? 'overload' : 'matched';
  if (!matchIsCurrent(state, process, kind)) return withEndIfOpen(state, [matched]);
  const text = overload ? overloadNotice : matchNotice;
  const notice = text(process, command.pattern, command.line);
  return accept(matched, noticeTurn(state, state.lastTurn + 1, process.processId, { kind, notice }));
}

export function processExited(state: SessionState, command: RecordProcessExited): Decision {
  const process = findProcess(state, command.processId);
  if (process === undefined) return unknownProcess(command.processId);
  if (process.status !== 'running') return alreadyDone;
  const exited = fact('process.exited', {
    process_id: process.processId,
    exit_code: command.exitCode,
    signal: command.signal,
    duration_seconds: command.durationSeconds,
    output_tail: command.outputTail,
    reason: command.reason ?? null,
  });
  return withEndIfOpen(state, [exited]);
}

export function processLost(state: SessionState, command: RecordProcessLost): Decision {
  const process = findProcess(state, command.processId);
  if (process === undefined) return unknownProcess(command.processId);
  if (process.status !== 'running') return alreadyDone;
  const lost = fact('process.lost', {
    process_id: process.processId,
    reason: command.reason,
    output_tail: command.outputTail ?? '',
  });
  return withEndIfOpen(state, [lost]);
}

export function consumeCompletion(state: SessionState, command: ConsumeCompletion): Decision {
  const process = findProcess(state, command.processId);
  if (process === undefined) return unknownProcess(command.processId);
  if (process.consumed) return alreadyDone;
  return withEndIfOpen(state, [
    fact('process.completion-consumed', { process_id: process.processId, by: command.by }),
  ]);
}

export function requestKill(state: SessionState, command: RequestKill): Decision {
  const process = findProcess(state, command.processId);
  if (process === undefined) return unknownProcess(command.processId);
  if (process.status !== 'running') {
    return refuse('process_over', `${command.processId} is not running any more: it is ${process.status}`);
  }
  if (process.killRequested) return alreadyDone;
  return accept(fact('process.kill-requested', { process_id: process.processId, by: command.by }));
}

/**
 * Adds to a decision a turn for each end that was not told yet and that no call waits for. This is the only place where an
 * end becomes a turn (invariant exit-is-kept). It runs on every decision, so that no way of closing a call can lose the
 * notice.
 */
export function withNotices(state: SessionState, decision: Decision): Decision {
  if (!decision.ok || decision.events.length === 0 || state.processes.length === 0) return decision;
  const after = stateAfter(state, decision.events);
  if (after.ended !== null) return decision;
  const due = after.processes.filter((process) => isUntold(process) && !isWaitedFor(after, process));
  if (due.length === 0) return decision;
  return accept(
    ...decision.events,
    ...due.flatMap(({ processId, untold }, n) =>
      untold ? [noticeTurn(after, after.lastTurn + 1 + n, processId, untold)] : [],
    ),
  );
}

function isWaitedFor({ turns }: SessionState, { processId }: ProcessState): boolean {
  return turns.some(({ calls }) =>
    calls.some((call) => call.status === 'started' && call.waitsFor === processId),
  );
}

/**
 * The process whose end a call waits for. Null: the call does something else. Invalid arguments do no harm here: the call
 * fails, and whatever closes it decides about the notice.
 */
export function waitsFor(tool: string, written: string): string | null {
  if (tool !== 'process') return null;
  try {
    const args = JSON.parse(written) as Partial<Record<string, unknown>> | null;
    return args?.action === 'wait' && typeof args.process_id === 'string' ? args.process_id : null;
  } catch {
    return null;
  }
}

function matchIsCurrent(state: SessionState, process: ProcessState, kind: NoticeKind): boolean {
  if (state.ended !== null || process.consumed || !process.watch) return false;
  const [head, ...behind] = state.turns;
  if (head === undefined || head.turn !== process.turn || head.completing) return false;
  return behind.every((turn) => {
    if (turn.source !== 'process') return false;
    return turn.notice?.processId !== process.processId || turn.notice.kind !== kind;
  });
}

function noticeTurn(
  state: SessionState,
  turn: number,
  processId: string,
  { kind, notice }: { readonly kind: NoticeKind; readonly notice: Notice },
) {
  return turnRequested({
    turn,
    source: 'process',
    input: noticeText(notice, markOfTurn(state, turn)),
    notice: { process_id: processId, kind },
  });
}

/** After the end of the session, facts are recorded and start nothing. Before it, the session may have waited only for this. */
function withEndIfOpen(state: SessionState, events: Parameters<typeof withEnd>[1]): Decision {
  return state.ended === null ? withEnd(state, events) : accept(...events);
}

function findProcess(state: SessionState, processId: string): ProcessState | undefined {
  return state.processes.find((process) => process.processId === processId);
}

function unknownProcess(processId: string): Decision {
  return refuse('unknown_process', `no process ${processId} in this session`);
}
