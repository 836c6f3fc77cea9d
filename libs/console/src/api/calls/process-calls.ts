import { api, ask, type Schema } from '../client.ts';

export type SessionProcess = Schema['SessionProcess'];
export type ProcessOutput = Schema['ProcessOutput'];

export interface ProcessFilter {
  readonly status?: string;
  readonly session?: string;
  readonly id?: string;
}

const PAGE = 100;
/** The most that one call gives. */
const PART_BYTES = 131_072;

/** Background processes, the last changed first. */
export const listProcesses = (
  { status, ...rest }: ProcessFilter,
  cursor: string | null,
  signal: AbortSignal,
) =>
  ask(
    api.GET('/v1/processes', {
      params: {
        query: {
          ...rest,
          ...(status === undefined ? {} : { status: status as SessionProcess['status'] }),
          ...(cursor === null ? {} : { cursor }),
          limit: PAGE,
        },
      },
      signal,
    }),
  );

/** `offset`: from this byte on; null: the last part. */
export const readOutput = (id: string, offset: number | null, signal: AbortSignal): Promise<ProcessOutput> =>
  ask(
    api.GET('/v1/processes/{id}/output', {
      params: { path: { id }, query: { bytes: PART_BYTES, ...(offset === null ? {} : { offset }) } },
      signal,
    }),
  );
