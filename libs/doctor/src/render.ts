import type { Finding, FindingState } from './finding.ts';

const MARKS: Readonly<Record<FindingState, string>> = {
  ok: 'ok',
  warning: 'warning',
  fault: 'FAULT',
  skipped: 'skipped',
};
const MARK_WIDTH = 8;

/** Lines of plain text. The last one is the summary. */
export function renderFindings(findings: readonly Finding[]): string[] {
  const width = Math.max(0, ...findings.map(({ check }) => check.length)) + 2;
  const indent = ' '.repeat(MARK_WIDTH + width);
  return [
    ...findings.flatMap(({ check, state, what, todo }) => [
      `${MARKS[state].padEnd(MARK_WIDTH)}${check.padEnd(width)}${what}`,
      ...(todo === undefined ? [] : [`${indent}-> ${todo}`]),
    ]),
    '',
    summary(findings),
  ];
}

export function isHealthy(findings: readonly Finding[]): boolean {
  return findings.every(({ state }) => state !== 'fault');
}

function summary(findings: readonly Finding[]): string {
  const count = (state: FindingState) => findings.filter((finding) => finding.state === state).length;
  const several = (number: number, word: string) => `${number} ${word}${number === 1 ? '' : 's'}`;
  return `${several(count('fault'), 'fault')}, ${several(count('warning'), 'warning')}, ${count('ok')} ok, ${count('skipped')} skipped`;
}
