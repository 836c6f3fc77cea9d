import { useQuery } from '@tanstack/react-query';
import { countQuestions } from '../../api/calls/question-calls.ts';
import { typesOf, useRefresh } from '../../api/feed/use-refresh.ts';

/** Every query of open questions is under this key. */
export const QUESTIONS = ['questions'] as const;

/** How many questions wait for a person. */
export function useOpenQuestions(): number {
  const { data } = useQuery({
    queryKey: [...QUESTIONS, 'count'],
    queryFn: ({ signal }) => countQuestions(signal),
  });
  // A question is closed by an answer, by its deadline, or by the end of its session.
  useRefresh(QUESTIONS, typesOf('clarification.', 'session.ended', 'session.erased'));
  return data ?? 0;
}
