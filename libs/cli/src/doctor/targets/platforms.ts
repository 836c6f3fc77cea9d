import type { KnownTarget, TargetOptions } from '@angelia/config';
import { at, type DryCall } from '../dry-call.ts';

/** How a platform is asked who we are to it. */
export interface Platform<T extends KnownTarget> {
  /** The key of the target's options that holds the credential. */
  readonly credential: string;
  readonly call: (options: TargetOptions<T>) => DryCall;
  /** Statuses that say that the credential is not known. */
  readonly refusals: readonly number[];
  /** Whom the credential belongs to, from a good answer; null: the answer is a refusal all the same. */
  readonly whose: (body: unknown) => string | null;
  /** What a refusal says, where the status alone does not. */
  readonly said: (body: unknown) => unknown;
}

const get = (url: string, headers: Readonly<Record<string, string>>): DryCall => ({
  method: 'GET',
  url,
  headers,
});
const UNAUTHORIZED = [401, 403];
const named = (name: unknown, prefix = ''): string =>
  typeof name === 'string' ? `${prefix}${name}` : 'known';

/** Each with the headers that its adapter sends (services/delivery/src/targets). */
export const platforms: { readonly [T in Exclude<KnownTarget, 'log' | 'http' | 'email'>]: Platform<T> } = {
  telegram: {
    credential: 'bot_token',
    call: ({ api_base, bot_token }) =>
      get(`${api_base}/bot${encodeURIComponent(bot_token).replaceAll('%3A', ':')}/getMe`, {}),
    // A token that is none at all is "Not Found".
    refusals: [401, 403, 404],
    whose: (body) => (at(body, 'ok') === true ? named(at(body, 'result', 'username'), '@') : null),
    said: (body) => at(body, 'description'),
  },
  slack: {
    credential: 'bot_token',
    call: ({ api_base, bot_token }) => ({
      method: 'POST',
      url: `${api_base}/auth.test`,
      headers: { authorization: `Bearer ${bot_token}` },
    }),
    refusals: UNAUTHORIZED,
    // Slack says no with 200.
    whose: (body) => (at(body, 'ok') === true ? named(at(body, 'user')) : null),
    said: (body) => at(body, 'error'),
  },
  discord: {
    credential: 'bot_token',
    call: ({ api_base, bot_token }) =>
      get(`${api_base}/users/@me`, {
        authorization: `Bot ${bot_token}`,
        'user-agent': 'DiscordBot (https://github.com/angelia, 0.1)',
      }),
    refusals: UNAUTHORIZED,
    whose: (body) => named(at(body, 'username')),
    said: (body) => at(body, 'message'),
  },
  github_comment: {
    credential: 'token',
    // Not `/user`, which an app's token may not ask.
    call: ({ api_base, token }) =>
      get(`${api_base}/rate_limit`, {
        authorization: `Bearer ${token}`,
        accept: 'application/vnd.github+json',
        'x-github-api-version': '2022-11-28',
        'user-agent': 'angelia',
      }),
    refusals: UNAUTHORIZED,
    whose: () => 'known',
    said: (body) => at(body, 'message'),
  },
  matrix: {
    credential: 'access_token',
    call: ({ api_base, access_token }) =>
      get(`${api_base}/_matrix/client/v3/account/whoami`, { authorization: `Bearer ${access_token}` }),
    refusals: UNAUTHORIZED,
    whose: (body) => named(at(body, 'user_id')),
    said: (body) => at(body, 'error'),
  },
  mattermost: {
    credential: 'token',
    call: ({ api_base, token }) => get(`${api_base}/api/v4/users/me`, { authorization: `Bearer ${token}` }),
    refusals: UNAUTHORIZED,
    whose: (body) => named(at(body, 'username'), '@'),
    said: (body) => at(body, 'message'),
  },
};
