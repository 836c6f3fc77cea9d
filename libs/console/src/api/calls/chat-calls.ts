import { api, ask, type Schema } from '../client.ts';

export type Chat = Schema['Chat'];
export type ChatSetup = Schema['ChatSetup'];
export type Pairing = Schema['Pairing'];
export type PairingCode = Schema['PairingCode'];

export const listChats = async (signal: AbortSignal): Promise<readonly Chat[]> =>
  (await ask(api.GET('/v1/chats', { signal }))).items;

/** Takes seconds: calls of the platform. */
export const setUpChat = (name: string): Promise<ChatSetup> =>
  ask(api.POST('/v1/chats/{name}/setup', { params: { path: { name } } }));

/** Who was let in, and codes that wait. */
export const listPairings = async (chat: string, signal: AbortSignal): Promise<readonly Pairing[]> =>
  (await ask(api.GET('/v1/chats/{name}/pairings', { params: { path: { name: chat } }, signal }))).items;

/** The code is in this answer only. */
export const makePairingCode = (chat: string, name: string): Promise<PairingCode> =>
  ask(api.POST('/v1/chats/{name}/pairings', { params: { path: { name: chat } }, body: { name } }));

export const revokePairing = (chat: string, id: string) =>
  ask(api.DELETE('/v1/chats/{name}/pairings/{id}', { params: { path: { name: chat, id } } }));
