import { answerLinks, callbackLinks, type ServiceSettings } from '@angelia/service-kit';
import { type Chat, compileChats } from './chats/chat.ts';
import { compileRoutes } from './webhooks/compile-route.ts';
import type { Route } from './webhooks/route.ts';

/** What ingress makes of a config. */
export interface IngressSettings {
  /** The routes of the config file, by name. */
  readonly routes: ReadonlyMap<string, Route>;
  readonly chats: ReadonlyMap<string, Chat>;
}

export const ingressSettings: ServiceSettings<IngressSettings> = {
  make: ({ config }, { environment }) => {
    // Each refuses a config whose links nobody could check, for lack of a key.
    answerLinks(config, environment);
    callbackLinks(config, environment);
    return { routes: compileRoutes(config), chats: compileChats(config) };
  },
};
