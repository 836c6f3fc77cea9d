import type { Auth } from '@angelia/contracts';
import type { Route } from '../api/types.ts';
import type { Context } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { configEnvironment } from '../local-stack/config-environment.ts';
import { readInput } from '../terminal/read-input.ts';
import { sampleBody, type WrittenRoute } from './sample-body.ts';
import { usualScheme } from './sign.ts';

/** How to sign a webhook for this route. */
export interface RouteAccess {
  /** Null if the route takes unsigned webhooks (INSECURE_NO_AUTH). */
  readonly secret: string | null;
  /** The name of a scheme, or a description of one. */
  readonly scheme: string | Exclude<Auth, string>;
  /** The first of its `events`; null if it takes all. */
  readonly event: string | null;
  /** A body that it accepts. */
  readonly sample: Readonly<Record<string, unknown>>;
}

const INSECURE = 'INSECURE_NO_AUTH';

/**
 * The secret from the options, else from the config file. A route that was made by API is not in the file, and the server does
 * not show its secret: the user must give it, and only the scheme comes from the server.
 * @throws CliError
 */
export async function routeAccess(context: Context, name: string): Promise<RouteAccess> {
  const { given } = context;
  const secret = await givenSecret(context);
  const scheme = given.text('scheme');
  if (secret !== null && scheme !== null) return access(secret, scheme, null, {});
  const file = await inConfigFile(context, name, secret !== null);
  if (file.route !== null) {
    const used = secret ?? file.route.secret;
    if (used === null) {
      throw new CliError(
        EXIT.config,
        `route ${name} of ${file.path} has no secret, and the file has no secret for all routes`,
      );
    }
    return access(used, scheme ?? file.route.auth, file.route.events[0] ?? null, file.route.written);
  }
  if (secret === null) {
    throw new CliError(
      EXIT.usage,
      `route ${name} is not in ${file.demo ? 'the built-in demo config' : file.path}: give its secret with --secret-file or --secret`,
      'to use another config file, set ANGELIA_CONFIG. The secret of a route made by API was shown when it was made',
    );
  }
  return access(secret, scheme ?? (await schemeByApi(context, name)), null, {});
}

function access(
  secret: string,
  named: RouteAccess['scheme'] | null,
  event: string | null,
  written: WrittenRoute,
): RouteAccess {
  const scheme = named ?? usualScheme(secret);
  return {
    secret: secret === INSECURE ? null : secret,
    scheme,
    sample: sampleBody(written, typeof scheme === 'string' ? scheme : scheme.scheme, event),
    // In `pull_request.opened` the part after the dot is an action, which is in the body.
    event: event?.split('.')[0] ?? null,
  };
}

async function givenSecret({ given, runtime }: Context): Promise<string | null> {
  const file = given.text('secret-file');
  const secret = given.text('secret');
  if (file !== null && secret !== null)
    throw new CliError(EXIT.usage, 'give --secret or --secret-file, not both');
  if (file === null) return secret;
  const read = (await readInput(runtime, file)).trim();
  if (read !== '') return read;
  throw new CliError(EXIT.usage, `--secret-file ${file}: the file holds no secret`);
}

/** When the user gives a secret, an unreadable config file is not an error. */
async function inConfigFile({ runtime }: Context, name: string, optional: boolean) {
  const { routeFromFile } = await import('@angelia/config/route-from-file');
  try {
    return routeFromFile(name, configEnvironment(runtime));
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'startup_refused') throw error;
    if (optional) return { path: '', demo: false, route: null };
    throw new CliError(EXIT.config, (error as Error).message.replaceAll('\n', '; '));
  }
}

/** Null if the route takes all schemes, or if the API cannot be asked. */
async function schemeByApi({ api }: Context, name: string): Promise<RouteAccess['scheme'] | null> {
  try {
    const route = await api().get<Route>(`/v1/routes/${encodeURIComponent(name)}`);
    // The server checked it when the route was made.
    return (route.definition.auth as RouteAccess['scheme'] | undefined) ?? null;
  } catch (error) {
    // Without a token, or for an unknown route, the answer to the webhook says what is wrong.
    if (
      error instanceof CliError &&
      (error.exitCode === EXIT.unauthorised || error.exitCode === EXIT.notFound)
    ) {
      return null;
    }
    throw error;
  }
}
