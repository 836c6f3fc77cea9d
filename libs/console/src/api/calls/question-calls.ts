import { api, ask, type Schema } from '../client.ts';

export type OpenQuestion = Schema['OpenQuestion'];

const PAGE = 50;

/** Open questions of all sessions, the oldest first. */
export const listQuestions = (filter: { readonly route?: string }, cursor: string | null, signal: AbortSignal) =>
  ask(
    api.GET('/v1/questions', {
      params: { query: { ...filter, limit: PAGE, ...(cursor === null ? {} : { cursor }) } },
      signal,
    }),
  );

export const countQuestions = async (signal: AbortSignal): Promise<number> =>
  (await ask(api.GET('/v1/questions', { params: { query: { count: 'true', limit: 1 } }, signal }))).count ?? 0;
