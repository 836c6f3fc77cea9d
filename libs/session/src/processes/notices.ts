import type { EventData } from '@angelia/contracts';
import type { Notice, ProcessState } from '../state.ts';
import { fenced } from '../transcript/untrusted-text.ts';

/** The user message that a notice becomes. Its first line is public (INTERFACES.md); the rest is output of the process. */
export function noticeText({ head, output }: Notice, mark: string | null): string {
  if (output.trim() === '') return head;
  return `${head}\n${mark === null ? output : fenced(output, mark, 'alone')}`;
}

export function exitNotice(
  process: ProcessState,
  { exit_code, signal, reason, output_tail }: EventData<'process.exited'>,
): Notice {
  const how = exit_code !== null ? `exit code ${exit_code}` : `signal ${signal ?? 'unknown'}`;
  const why = reason ? `\nIt was ended: ${reason}.` : '';
  return { head: `${headOf(`${process.processId} exited with ${how}`)}${why}`, output: output_tail };
}

export function matchNotice(process: ProcessState, pattern: string, line: string): Notice {
  return { head: headOf(`${process.processId} matched "${pattern}"`), output: line };
}

export function overloadNotice(process: ProcessState, pattern: string, line: string): Notice {
  return {
    head: headOf(`${process.processId} matched "${pattern}" too often; its watch is off`),
    output: line,
  };
}

export function lostNotice(process: ProcessState, { output_tail }: EventData<'process.lost'>): Notice {
  return { head: headOf(`${process.processId} was lost`), output: output_tail ?? '' };
}

function headOf(what: string): string {
  return `[Background process ${what}]`;
}
