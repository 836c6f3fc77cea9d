import type { KnownTarget, TargetOptions } from '@angelia/config';
import { at, type DryCall } from '../dry-call.ts';

/** How to ask a platform whom a credential belongs to. */
export interface Platform<T extends KnownTarget> {
  /** The key of the target's options that holds the credential. */
  readonly credential: string;
  readonly call: (options: TargetOptions<T>) => DryCall;
  /** Statuses that mean that the credential is wrong. */
  readonly refusals: readonly number[];
  /** Whom the credential belongs to, from a 2xx answer. Null if that answer is a refusal. */
  readonly owner: (body: unknown) => string | null;
  /** The message of a refusal. */
  readonly message: (body: unknown) => unknown;
}

const get = (url: string, headers: Readonly<Record<string, string>>): DryCall => ({
  method: 'GET',
  url,
  headers,
});
const UNAUTHORIZED = [401, 403];
const named = (name: unknown, prefix = ''): string =>
  typeof name === 'string' ? `${prefix}${name}` : 'known';

/** Each sends the same headers as its adapter in services/delivery/src/targets. */
export const platforms: { readonly [T in Exclude<KnownTarget, 'log' | 'http' | 'email'>]: Platform<T> } = {
  telegram: {
    credential: 'bot_token',
    call: ({ api_base, bot_token }) =>
      get(`${api_base}/bot${encodeURIComponent(bot_token).replaceAll('%3A', ':')}/getMe`, {}),
    // Telegram answers "Not Found" to a malformed token.
    refusals: [401, 403, 404],
    owner: (body) => (at(body, 'ok') === true ? named(at(body, 'result', 'username'), '@') : null),
    message: (body) => at(body, 'description'),
  },
  slack: {
    credential: 'bot_token',
    call: ({ api_base, bot_token }) => ({
      method: 'POST',
      url: `${api_base}/auth.test`,
      headers: { authorization: `Bearer ${bot_token}` },
    }),
    refusals: UNAUTHORIZED,
    // Slack refuses with status 200.
    owner: (body) => (at(body, 'ok') === true ? named(at(body, 'user')) : null),
    message: (body) => at(body, 'error'),
  },
  discord: {
    credential: 'bot_token',
    call: ({ api_base, bot_token }) =>
      get(`${api_base}/users/@me`, {
        authorization: `Bot ${bot_token}`,
        'user-agent': 'DiscordBot (https://github.com/angelia, 0.1)',
      }),
    refusals: UNAUTHORIZED,
    owner: (body) => named(at(body, 'username')),
    message: (body) => at(body, 'message'),
  },
  github_comment: {
    credential: 'token',
    // Not `/user`, which a token of an app may not read.
    call: ({ api_base, token }) =>
      get(`${api_base}/rate_limit`, {
        authorization: `Bearer ${token}`,
        accept: 'application/vnd.github+json',
        'x-github-api-version': '2022-11-28',
        'user-agent': 'angelia',
      }),
    refusals: UNAUTHORIZED,
    owner: () => 'known',
    message: (body) => at(body, 'message'),
  },
  matrix: {
    credential: 'access_token',
    call: ({ api_base, access_token }) =>
      get(`${api_base}/_matrix/client/v3/account/whoami`, { authorization: `Bearer ${access_token}` }),
    refusals: UNAUTHORIZED,
    owner: (body) => named(at(body, 'user_id')),
    message: (body) => at(body, 'error'),
  },
  mattermost: {
    credential: 'token',
    call: ({ api_base, token }) => get(`${api_base}/api/v4/users/me`, { authorization: `Bearer ${token}` }),
    refusals: UNAUTHORIZED,
    owner: (body) => named(at(body, 'username'), '@'),
    message: (body) => at(body, 'message'),
  },
};
