import { api, ask, type Schema } from '../client.ts';

export type Delivery = Schema['Delivery'];
export type DeadLetter = Schema['DeadLetter'];

export interface DeliveryFilter {
  readonly status?: string;
  readonly target?: string;
  readonly route?: string;
  readonly session?: string;
  readonly since?: string;
  readonly until?: string;
}

const PAGE = 100;

/** Deliveries, the last changed first. */
export const listDeliveries = (
  { status, ...rest }: DeliveryFilter,
  cursor: string | null,
  signal: AbortSignal,
) =>
  ask(
    api.GET('/v1/deliveries', {
      params: {
        query: {
          ...rest,
          ...(status === undefined ? {} : { status: status as Delivery['status'] }),
          ...(cursor === null ? {} : { cursor }),
          limit: PAGE,
        },
      },
      signal,
    }),
  );

/** Events that a service could not process, the newest first. */
export const listDeadLetters = (cursor: string | null, signal: AbortSignal) =>
  ask(
    api.GET('/v1/dead-letters', {
      params: { query: { limit: PAGE, ...(cursor === null ? {} : { cursor }) } },
      signal,
    }),
  );

export const replayDeadLetter = (id: string) =>
  ask(api.POST('/v1/dead-letters/{id}/replay', { params: { path: { id } } }));
