import type { EventData } from '@angelia/contracts';
import type { ProcessState } from './state.ts';

/** The user message that a process notice becomes. How it begins is public (INTERFACES.md). */
export function exitNotice(
  process: ProcessState,
  { exit_code, signal, reason, output_tail }: EventData<'process.exited'>,
): string {
  const how = exit_code !== null ? `exit code ${exit_code}` : `signal ${signal ?? 'unknown'}`;
  const why = reason ? `It was ended: ${reason}.` : '';
  return notice(`${process.processId} exited with ${how}`, [why, output_tail].filter(Boolean).join('\n'));
}

export function matchNotice(process: ProcessState, pattern: string, line: string): string {
  return notice(`${process.processId} matched "${pattern}"`, line);
}

export function overloadNotice(process: ProcessState, pattern: string, line: string): string {
  return notice(`${process.processId} matched "${pattern}" too often; its watch is off`, line);
}

export function lostNotice(process: ProcessState, { output_tail }: EventData<'process.lost'>): string {
  return notice(`${process.processId} was lost`, output_tail ?? '');
}

function notice(what: string, output: string): string {
  const head = `[Background process ${what}]`;
  return output.trim() === '' ? head : `${head}\n${output}`;
}
