import { api, ask, type Schema } from '../client.ts';

export type OpenApproval = Schema['OpenApproval'];
export type Decision = Omit<Schema['NewDecision'], 'digest'>;

/** Every query of open requests is under this key; the shell asks for them again when one may have changed. */
export const APPROVALS = ['approvals'] as const;

/** Each has all of its arguments. */
const PAGE = 20;

/** Tool calls of all sessions that wait for an approval, the oldest first. */
export const listApprovals = (
  filter: { readonly route?: string },
  cursor: string | null,
  signal: AbortSignal,
) =>
  ask(
    api.GET('/v1/approvals', {
      params: { query: { ...filter, limit: PAGE, ...(cursor === null ? {} : { cursor }) } },
      signal,
    }),
  );

/** @throws ApiError 409: it is closed, and the message says who decided */
export const decideApproval = ({ id, digest }: OpenApproval, decision: Decision, key: string) =>
  ask(
    api.POST('/v1/approvals/{id}', {
      params: { path: { id }, header: { 'Idempotency-Key': key } },
      body: { ...decision, digest },
    }),
  );
