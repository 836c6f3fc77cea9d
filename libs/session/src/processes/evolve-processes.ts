import type { EventData } from '@angelia/contracts';
import {
  isUntold,
  type Notice,
  type NoticeKind,
  type ProcessState,
  type StateDraft,
  shortened,
} from '../state.ts';
import { msOrNull, seconds } from '../time.ts';
import { exitNotice, lostNotice } from './notices.ts';

/** Ended processes stay for `process list` and the API. A session that starts hundreds must not grow without bound. */
const REMEMBERED_ENDED_PROCESSES = 32;

/** The default of `processes.max_wait_seconds`. A process without a deadline must not keep a session open for ever. */
const DEFAULT_PROCESS_WAIT = seconds(86_400);

export function applyProcessStarted(draft: StateDraft, data: EventData<'process.started'>, at: number): void {
  draft.watcher = data.watcher ?? draft.watcher ?? null;
  draft.processes = [
    ...draft.processes,
    {
      processId: data.process_id,
      turn: data.turn,
      callId: data.call_id,
      status: 'running',
      notify: data.notify_on_complete ?? false,
      watch: (data.watch_patterns ?? []).length > 0,
      consumed: false,
      untold: null,
      matches: 0,
      command: shortened(data.command),
      host: data.host,
      bootId: data.boot_id,
      pid: data.pid,
      pidStartTime: data.pid_start_time,
      cwd: data.cwd,
      startedAt: at,
      waitUntil: msOrNull(data.wait_deadline) ?? at + DEFAULT_PROCESS_WAIT,
      endedAt: null,
      exitCode: null,
      signal: null,
      watcher: data.watcher ?? null,
    },
  ];
}

export function applyProcessMatched(draft: StateDraft, data: EventData<'process.matched'>): void {
  changeProcess(draft, data.process_id, (process) => ({
    matches: data.match ?? process.matches + 1,
    watch: process.watch && !data.overload,
  }));
}

export function applyProcessExited(draft: StateDraft, data: EventData<'process.exited'>, at: number): void {
  changeProcess(draft, data.process_id, (process) => ({
    status: 'exited',
    endedAt: at,
    exitCode: data.exit_code,
    signal: data.signal,
    untold: untold(draft, process, 'exited', exitNotice(process, data)),
  }));
  forgetOldProcesses(draft);
}

export function applyProcessLost(draft: StateDraft, data: EventData<'process.lost'>, at: number): void {
  changeProcess(draft, data.process_id, (process) => ({
    status: 'lost',
    endedAt: at,
    untold: untold(draft, process, 'lost', lostNotice(process, data)),
  }));
  forgetOldProcesses(draft);
}

export function applyKillRequested(draft: StateDraft, data: EventData<'process.kill-requested'>): void {
  changeProcess(draft, data.process_id, () => ({ killRequested: true }));
}

export function applyCompletionConsumed(
  draft: StateDraft,
  { process_id }: EventData<'process.completion-consumed'>,
): void {
  changeProcess(draft, process_id, () => ({ consumed: true, untold: null }));
  // A notice that is still queued tells the model what it now knows, so it is withdrawn (no-phantom-turns).
  draft.turns = draft.turns.filter(
    (turn) => turn.notice?.processId !== process_id || turn.startedAt !== null,
  );
}

/** A turn now tells the session about the end of this process. */
export function forgetNotice(
  draft: StateDraft,
  { process_id, kind }: NonNullable<EventData<'turn.requested'>['notice']>,
): void {
  if (kind === 'matched' || kind === 'overload') return;
  changeProcess(draft, process_id, () => ({ untold: null }));
}

/** The end is news until a notice tells it or the model knows it (consumed), if somebody asked to be told. */
function untold(
  draft: StateDraft,
  process: ProcessState,
  kind: NoticeKind,
  notice: Notice,
): ProcessState['untold'] {
  return draft.ended === null && process.notify && !process.consumed ? { kind, notice } : null;
}

function forgetOldProcesses(draft: StateDraft): void {
  const isOver = (process: ProcessState): boolean => process.status !== 'running' && !isUntold(process);
  let surplus = draft.processes.filter(isOver).length - REMEMBERED_ENDED_PROCESSES;
  if (surplus <= 0) return;
  draft.processes = draft.processes.filter((process) => !isOver(process) || surplus-- <= 0);
}

function changeProcess(
  draft: StateDraft,
  processId: string,
  change: (process: ProcessState) => Partial<ProcessState>,
): void {
  draft.processes = draft.processes.map((process) =>
    process.processId === processId ? { ...process, ...change(process) } : process,
  );
}
