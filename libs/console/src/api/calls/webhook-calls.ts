import { api, ask, type Schema } from '../client.ts';

export type UnstartedWebhook = Schema['UnstartedWebhook'];
export type UnstartedCount = Schema['UnstartedWebhookCount'];

export interface WebhookFilter {
  readonly route?: string;
  readonly outcome?: string;
  readonly refused?: string;
  readonly since?: string;
}

const MOST = 200;

/** Webhooks that started no session, the newest first. An outcome of the address that does not exist is refused by the gateway. */
export const listUnstarted = ({ route, outcome, refused, since }: WebhookFilter, signal: AbortSignal) =>
  ask(
    api.GET('/v1/webhooks', {
      params: {
        query: {
          limit: MOST,
          ...(route === undefined ? {} : { route }),
          ...(outcome === undefined ? {} : { outcome: outcome as UnstartedWebhook['outcome'] }),
          ...(refused === undefined ? {} : { refused: 'true' as const }),
          ...(since === undefined ? {} : { since }),
        },
      },
      signal,
    }),
  );

export const countUnstarted = (route: string | undefined, signal: AbortSignal) =>
  ask(api.GET('/v1/webhooks/counts', { params: { query: route === undefined ? {} : { route } }, signal }));
