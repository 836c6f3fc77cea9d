import type { Config, ConfigProblem, RouteConfig } from '@angelia/contracts';
import { isLoopback } from '../loopback.ts';

export const INSECURE_NO_AUTH = 'INSECURE_NO_AUTH';

/**
 * A shorter secret is refused. Nobody chooses one this short: it is an empty variable with something around it, or a
 * placeholder. A higher limit would break secrets that senders were given long ago and that cannot be changed from here.
 */
const FEWEST_SECRET_CHARACTERS = 6;
/** A shorter secret is accepted with a warning. Nobody guesses 16 letters and digits. */
const GOOD_SECRET_CHARACTERS = 16;

export function routeSecretProblems(
  config: Config,
  name: string,
  route: RouteConfig,
  listenHost: string,
): ConfigProblem[] {
  const place = `routes.${name}.secret`;
  if (route.secret === undefined && config.secret === undefined) {
    return [
      { place, reason: 'a route needs a secret. Set it here, or set `secret` at the top for all routes.' },
    ];
  }
  if (route.auth === 'twilio' && config.public_url === undefined) {
    const reason =
      'Twilio signs the URL that it calls. Set `public_url` at the top to the URL where senders reach ingress.';
    return [{ place: `routes.${name}.auth`, reason }];
  }
  return secretProblems(place, route.secret, listenHost);
}

export function secretProblems(
  place: string,
  secret: string | string[] | undefined,
  listenHost: string,
): ConfigProblem[] {
  const secrets = secret === undefined ? [] : [secret].flat();
  if (secrets.some((each) => charactersOf(each) < FEWEST_SECRET_CHARACTERS)) {
    const reason =
      `a secret has at least ${FEWEST_SECRET_CHARACTERS} characters, not counting blanks and the prefix \`whsec_\`. ` +
      'Choose one that nobody can guess, for example with `openssl rand -base64 32`.';
    return [{ place, reason }];
  }
  if (!secrets.includes(INSECURE_NO_AUTH)) return [];
  if (secrets.length > 1) {
    return [{ place, reason: `${INSECURE_NO_AUTH} makes the other secrets worthless. Remove it.` }];
  }
  if (isLoopback(listenHost)) return [];
  return [
    {
      place,
      reason: `${INSECURE_NO_AUTH} is for loopback only, and ANGELIA_HOST is ${listenHost}. Set a secret.`,
    },
  ];
}

/** Whether the operator should be warned that this accepted secret is short. */
export function isShortSecret(secret: string): boolean {
  return secret !== INSECURE_NO_AUTH && charactersOf(secret) < GOOD_SECRET_CHARACTERS;
}

function charactersOf(secret: string): number {
  return secret.replace(/^whsec_/, '').replace(/\s/g, '').length;
}
