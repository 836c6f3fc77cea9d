import type { EventData } from '@angelia/contracts';
import type { QuestionName } from '@angelia/service-kit';
import type { Loaded } from '@angelia/sessions';

export interface Question {
  readonly clarificationId: string;
  readonly sessionId: string;
  readonly title: string;
  readonly route: string;
  readonly agent: string;
  readonly question: string;
  readonly choices: readonly string[];
  readonly deadline: string;
  readonly status: 'open' | keyof typeof whyClosed;
}

/** The question that a link names, as it is in the log now; null if there is none (any more). */
export function questionIn({ id, events, state }: Loaded, { output }: QuestionName): Question | null {
  // Streams are read from version 1 and have no gaps.
  const asked = events[output - 1];
  if (asked?.type !== 'clarification.requested' || state.created === null) return null;
  const data = asked.data as EventData<'clarification.requested'>;
  const closing = events.find(
    ({ type, data: closed }) =>
      Object.hasOwn(closedBy, type) &&
      (closed as { clarification_id: string }).clarification_id === data.clarification_id,
  );
  return {
    clarificationId: data.clarification_id,
    sessionId: id,
    title: state.created.title,
    route: state.created.route,
    agent: state.created.agent,
    question: data.question,
    choices: data.choices,
    deadline: data.deadline,
    status: state.clarification?.output === output ? 'open' : (closedBy[closing?.type ?? ''] ?? 'closed'),
  };
}

const closedBy: Readonly<Record<string, keyof typeof whyClosed>> = {
  'clarification.answered': 'answered',
  'clarification.timed-out': 'timed_out',
  'clarification.superseded': 'superseded',
};

/** Why an answer is no longer accepted, for the person who wants to give it. */
export const whyClosed = {
  answered: 'This question has been answered already. A link works once.',
  timed_out: 'The time to answer this question is over.',
  superseded:
    'This question is no longer open: another message was sent to the session instead of an answer.',
  closed: 'This question is no longer open: the session that asked it has ended.',
} as const;
