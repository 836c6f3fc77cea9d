import type { ProcessState } from './state.ts';
import { fenced } from './untrusted.ts';

/** What is said about a process, and what it printed. */
export interface Notice {
  readonly head: string;
  readonly output: string;
}

/** The user message that a notice becomes. How it begins is public (INTERFACES.md); what follows the process wrote. */
export function noticeText({ head, output }: Notice, mark: string | null): string {
  if (output.trim() === '') return head;
  return `${head}\n${mark === null ? output : fenced(output, mark, 'alone')}`;
}

export function exitNotice(
  process: ProcessState,
  end: { exitCode: number | null; signal: string | null; reason?: string | null },
  output: string,
): Notice {
  const how = end.exitCode !== null ? `exit code ${end.exitCode}` : `signal ${end.signal ?? 'unknown'}`;
  const why = end.reason ? `\nIt was ended: ${end.reason}.` : '';
  return { head: `${headOf(`${process.processId} exited with ${how}`)}${why}`, output };
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

export function lostNotice(process: ProcessState, output: string): Notice {
  return { head: headOf(`${process.processId} was lost`), output };
}

function headOf(what: string): string {
  return `[Background process ${what}]`;
}
