import type { EventData } from '@angelia/contracts';
import { accept, alreadySo, type Decision, fact, refuse } from '../decision.ts';
import { afterwards, withEnd } from '../ending/decide-ending.ts';
import { open } from '../guards.ts';
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
 *   running | over --completion-consumed--> the model knows how it ended: no notice, a queued one is withdrawn
 *
 * An exit becomes a turn when `notify_on_complete` was asked for, it was not consumed and the session has not ended.
 * Its turn may long be answered: that is the point of the notice. An end that a call waits for is no turn, in whichever
 * order the two come:
 *
 *   tool.started (waits_for) --exited--> untold --completion-consumed, tool.finished--> known, no turn
 *                                        untold --the call closes without having told--> turn.requested, once
 *   exited + turn.requested --tool.started--> the notice stays in the queue, behind the turn that waits
 *                           --completion-consumed--> withdrawn, before anybody could start it
 *
 * The call closes when its time is up, when its run or its watcher is gone and the model is told that its outcome is
 * unknown, or with its turn. Whatever closes it decides the notice, too (`withNotices`). A match becomes a turn only while the turn that
 * started the process is the current one: not answered, its last model answer not already the final one, no further
 * message or webhook behind it. While a notice of a match still waits in the queue, further matches of that process
 * are recorded and no more. The fact and its turn are one append, so that a crash in between cannot make a second
 * turn (E7), and a report that comes twice is one.
 */
export interface RecordProcessStarted {
  readonly type: 'process-started';
  readonly processId: string;
  /** The `terminal` call that it answers. */
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
  /** The n-th recorded match (`process.matches + 1`). */
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
  /** Why we ended it. */
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

/** By somebody outside: the watcher ends the process. Its session is told of the end as of any other. */
export interface RequestKill {
  readonly type: 'request-kill';
  readonly processId: string;
  readonly by: string;
}

export function processStarted(state: SessionState, command: RecordProcessStarted): Decision {
  if (find(state, command.processId) !== undefined) return alreadySo;
  const closed = open(state);
  if (closed !== null) return closed;
  // Like a tool's result it is taken from the watcher also when another run took over meanwhile, as long as the call
  // is open. If not, the watcher ends what it began: nobody would know of it.
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
  const process = find(state, command.processId);
  if (process === undefined) return unknown(command.processId);
  // Nothing after the exit; and the same match once.
  if (process.status !== 'running' || command.match <= process.matches) return alreadySo;
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
  return accept(matched, noticeTurn(state, state.lastTurn + 1, process.processId, kind, notice));
}

export function processExited(state: SessionState, command: RecordProcessExited): Decision {
  const process = find(state, command.processId);
  if (process === undefined) return unknown(command.processId);
  if (process.status !== 'running') return alreadySo;
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
  const process = find(state, command.processId);
  if (process === undefined) return unknown(command.processId);
  if (process.status !== 'running') return alreadySo;
  const lost = fact('process.lost', {
    process_id: process.processId,
    reason: command.reason,
    output_tail: command.outputTail ?? '',
  });
  return withEndIfOpen(state, [lost]);
}

export function consumeCompletion(state: SessionState, command: ConsumeCompletion): Decision {
  const process = find(state, command.processId);
  if (process === undefined) return unknown(command.processId);
  if (process.consumed) return alreadySo;
  return withEndIfOpen(state, [
    fact('process.completion-consumed', { process_id: process.processId, by: command.by }),
  ]);
}

export function requestKill(state: SessionState, command: RequestKill): Decision {
  const process = find(state, command.processId);
  if (process === undefined) return unknown(command.processId);
  if (process.status !== 'running') {
    return refuse('process_over', `${command.processId} is not running any more: it is ${process.status}`);
  }
  if (process.killRequested) return alreadySo;
  return accept(fact('process.kill-requested', { process_id: process.processId, by: command.by }));
}

/**
 * What was decided, and behind it a turn for each end that is still to be told and that no call waits for: the only place
 * where an end becomes a turn (invariant exit-is-kept). Whatever the decision was, so that no way in which a call closes
 * can lose the notice.
 */
export function withNotices(state: SessionState, decision: Decision): Decision {
  if (!decision.ok || decision.events.length === 0 || state.processes.length === 0) return decision;
  const after = afterwards(state, decision.events);
  if (after.ended !== null) return decision;
  const due = after.processes.filter((process) => isUntold(process) && !isWaitedFor(after, process));
  if (due.length === 0) return decision;
  return accept(
    ...decision.events,
    ...due.flatMap(({ processId, untold }, n) =>
      untold ? [noticeTurn(after, after.lastTurn + 1 + n, processId, untold.kind, untold.notice)] : [],
    ),
  );
}

function isWaitedFor({ turns }: SessionState, { processId }: ProcessState): boolean {
  return turns.some(({ calls }) =>
    calls.some((call) => call.status === 'started' && call.waitsFor === processId),
  );
}

/**
 * The process whose end a call waits for; null: it does something else. Arguments that are of no use otherwise do no
 * harm: the call fails, and whatever closes it tells of the end.
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

function noticeTurn(state: SessionState, turn: number, processId: string, kind: NoticeKind, notice: Notice) {
  return turnRequested({
    turn,
    source: 'process',
    input: noticeText(notice, markOfTurn(state, turn)),
    notice: { process_id: processId, kind },
  });
}

/** After the end facts are recorded and start nothing; before it, this may have been the last thing waited for. */
function withEndIfOpen(state: SessionState, events: Parameters<typeof withEnd>[1]): Decision {
  return state.ended === null ? withEnd(state, events) : accept(...events);
}

function find(state: SessionState, processId: string): ProcessState | undefined {
  return state.processes.find((process) => process.processId === processId);
}

function unknown(processId: string): Decision {
  return refuse('unknown_process', `no process ${processId} in this session`);
}
