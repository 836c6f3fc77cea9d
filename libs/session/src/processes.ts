import type { EventData } from '@angelia/contracts';
import { accept, alreadySo, type Decision, fact, refuse } from './decision.ts';
import { withEnd } from './ending.ts';
import { open } from './fence.ts';
import { exitNotice, lostNotice, matchNotice, type Notice, noticeText, overloadNotice } from './notices.ts';
import type { NoticeKind, ProcessState, SessionState } from './state.ts';
import { iso } from './time.ts';
import { turnRequested } from './turns.ts';
import { markOfTurn } from './untrusted.ts';

/**
 * Background processes (seed 004; invariants no-phantom-turns and exit-is-kept).
 *
 *   (call started) --process.started--> running --matched*--> running
 *   running --exited | lost--> over
 *   running | over --completion-consumed--> the model knows how it ended: no notice, a queued one is withdrawn
 *
 * An exit becomes a turn when `notify_on_complete` was asked for, it was not consumed and the session has not ended.
 * Its turn may long be answered: that is the point of the notice. A match becomes a turn only while the turn that
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
  return accept(matched, noticeTurn(state, process, kind, text(process, command.pattern, command.line)));
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
  if (!endIsWanted(state, process)) return withEndIfOpen(state, [exited]);
  return accept(
    exited,
    noticeTurn(state, process, 'exited', exitNotice(process, command, command.outputTail)),
  );
}

export function processLost(state: SessionState, command: RecordProcessLost): Decision {
  const process = find(state, command.processId);
  if (process === undefined) return unknown(command.processId);
  if (process.status !== 'running') return alreadySo;
  const outputTail = command.outputTail ?? '';
  const lost = fact('process.lost', {
    process_id: process.processId,
    reason: command.reason,
    output_tail: outputTail,
  });
  if (!endIsWanted(state, process)) return withEndIfOpen(state, [lost]);
  return accept(lost, noticeTurn(state, process, 'lost', lostNotice(process, outputTail)));
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

/** Is the end of this process news that somebody asked for? */
function endIsWanted(state: SessionState, process: ProcessState): boolean {
  return state.ended === null && process.notify && !process.consumed;
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

function noticeTurn(state: SessionState, process: ProcessState, kind: NoticeKind, notice: Notice) {
  const turn = state.lastTurn + 1;
  return turnRequested({
    turn,
    source: 'process',
    input: noticeText(notice, markOfTurn(state, turn)),
    notice: { process_id: process.processId, kind },
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
