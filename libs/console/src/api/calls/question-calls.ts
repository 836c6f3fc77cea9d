import { api, ask, type Schema } from '../client.ts';

export type OpenQuestion = Schema['OpenQuestion'];

/** Every query of open questions is under this key; the shell asks for them again when one may have changed. */
export const QUESTIONS = ['questions'] as const;

const PAGE = 50;

/** Open questions of all sessions, the oldest first. */
export const listQuestions = (
  filter: { readonly route?: string },
  cursor: string | null,
  signal: AbortSignal,
) =>
  ask(
    api.GET('/v1/questions', {
      params: { query: { ...filter, limit: PAGE, ...(cursor === null ? {} : { cursor }) } },
      signal,
    }),
  );
