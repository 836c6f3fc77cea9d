import { api, ask, type Schema } from '../client.ts';

export type Session = Schema['Session'];

/** Names one press of a button: if the answer is lost and the call repeated, it still counts once. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

const path = (id: string) => ({ path: { id } });

export const getSession = (id: string, signal?: AbortSignal): Promise<Session> =>
  ask(api.GET('/v1/sessions/{id}', { params: path(id), ...(signal === undefined ? {} : { signal }) }));

export const cancelSession = (id: string) => ask(api.POST('/v1/sessions/{id}/cancel', { params: path(id) }));

/** Continues an ended session. Returns the continuation. */
export const resumeSession = (id: string, key = newKey()) =>
  ask(api.POST('/v1/sessions/{id}/resume', { params: { ...path(id), header: { 'Idempotency-Key': key } } }));

/** Returns this session, or the continuation if it had ended. */
export const sendMessage = (id: string, text: string, newTurn: boolean, key = newKey()) =>
  ask(
    api.POST('/v1/sessions/{id}/messages', {
      params: { ...path(id), header: { 'Idempotency-Key': key } },
      body: { text, new_turn: newTurn, images: [] },
    }),
  );

export const answerQuestion = (id: string, clarificationId: string, answer: string, key = newKey()) =>
  ask(
    api.POST('/v1/sessions/{id}/answers', {
      params: { ...path(id), header: { 'Idempotency-Key': key } },
      body: { clarification_id: clarificationId, answer },
    }),
  );

export const eraseSession = (id: string) => ask(api.DELETE('/v1/sessions/{id}', { params: path(id) }));

export const retryDelivery = (id: string) => ask(api.POST('/v1/deliveries/{id}/retry', { params: path(id) }));

export const killProcess = (id: string) => ask(api.POST('/v1/processes/{id}/kill', { params: path(id) }));
