export { type ExamineOptions, examine } from './examine.ts';
export type { Finding, FindingState } from './finding.ts';
export { isHealthy, renderFindings } from './render.ts';
