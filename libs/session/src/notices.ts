import type { ProcessState } from './state.ts';

/** The user message that a process notice becomes. How it begins is public (INTERFACES.md). */
export function exitNotice(
  process: ProcessState,
  end: { exitCode: number | null; signal: string | null; reason?: string | null },
  outputTail: string,
): string {
  const how = end.exitCode !== null ? `exit code ${end.exitCode}` : `signal ${end.signal ?? 'unknown'}`;
  const why = end.reason ? `It was ended: ${end.reason}.` : '';
  return notice(`${process.processId} exited with ${how}`, [why, outputTail].filter(Boolean).join('\n'));
}

export function matchNotice(process: ProcessState, pattern: string, line: string): string {
  return notice(`${process.processId} matched "${pattern}"`, line);
}

export function overloadNotice(process: ProcessState, pattern: string, line: string): string {
  return notice(`${process.processId} matched "${pattern}" too often; its watch is off`, line);
}

export function lostNotice(process: ProcessState, outputTail: string): string {
  return notice(`${process.processId} was lost`, outputTail);
}

function notice(what: string, output: string): string {
  const head = `[Background process ${what}]`;
  return output.trim() === '' ? head : `${head}\n${output}`;
}
