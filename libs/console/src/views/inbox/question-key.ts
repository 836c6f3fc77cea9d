import type { OpenQuestion } from '../../api/calls/question-calls.ts';

/** Names a question in addresses and lists. */
export const questionKey = (question: Pick<OpenQuestion, 'session_id' | 'clarification_id'>): string =>
  `${question.session_id}.${question.clarification_id}`;
