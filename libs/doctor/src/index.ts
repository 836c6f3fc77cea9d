export { chatsFindings } from './chats/findings.ts';
export { type ExamineOptions, examine } from './examine.ts';
export type { Finding, FindingState } from './finding.ts';
export { modelsFindings } from './models.ts';
export { isHealthy, renderFindings } from './render.ts';
export { targetsFindings } from './targets/findings.ts';
