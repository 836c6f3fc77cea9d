import type { Route } from '../api/types.ts';
import type { Context } from '../command-line/command.ts';
import { CliError, EXIT } from '../exit.ts';
import { configEnvironment } from '../local-stack/config-environment.ts';
import { readInput } from '../terminal/read-input.ts';
import { usualScheme } from './sign.ts';

/** How a webhook for this route is to be signed. */
export interface RouteAccess {
  /** Null: the route takes everybody's (INSECURE_NO_AUTH). */
  readonly secret: string | null;
  readonly scheme: string;
  /** What its `events` name first; null: it takes all. */
  readonly event: string | null;
}

const INSECURE = 'INSECURE_NO_AUTH';

/**
 * The secret as given, else from the config file. A route that was made by API is not in the file, and its secret is told to
 * nobody: then it must be given, and only the scheme is asked of the server.
 * @throws CliError
 */
export async function routeAccess(context: Context, name: string): Promise<RouteAccess> {
  const { given } = context;
  const secret = await givenSecret(context);
  const scheme = given.text('scheme');
  if (secret !== null && scheme !== null) return access(secret, scheme, null);
  const file = await inConfigFile(context, name, secret !== null);
  if (file.route !== null) {
    const used = secret ?? file.route.secret;
    if (used === null) {
      throw new CliError(
        EXIT.config,
        `route ${name} of ${file.path} has no secret, and the file has none for all`,
      );
    }
    return access(used, scheme ?? file.route.auth, file.route.events[0] ?? null);
  }
  if (secret === null) {
    throw new CliError(
      EXIT.usage,
      `route ${name} is not in ${file.demo ? 'the built-in demo config' : file.path}: give its secret with --secret-file or --secret`,
      'another config file: ANGELIA_CONFIG; routes made by API: the secret was shown when they were made',
    );
  }
  return access(secret, scheme ?? (await schemeByApi(context, name)), null);
}

function access(secret: string, scheme: string | null, event: string | null): RouteAccess {
  return {
    secret: secret === INSECURE ? null : secret,
    scheme: scheme ?? usualScheme(secret),
    // `pull_request.opened` names an action, which is in the body.
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
  throw new CliError(EXIT.usage, `--secret-file ${file}: there is no secret in it`);
}

/** With a secret at hand, a file that cannot be read is no reason to stop. */
async function inConfigFile({ runtime }: Context, name: string, optional: boolean) {
  const { routeOfFile } = await import('@angelia/config/route-of-file');
  try {
    return routeOfFile(name, configEnvironment(runtime));
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'startup_refused') throw error;
    if (optional) return { path: '', demo: false, route: null };
    throw new CliError(EXIT.config, (error as Error).message.replaceAll('\n', '; '));
  }
}

/** Null: the route takes all schemes, or nobody may ask. */
async function schemeByApi({ api }: Context, name: string): Promise<string | null> {
  try {
    const route = await api().get<Route>(`/v1/routes/${encodeURIComponent(name)}`);
    return typeof route.definition.auth === 'string' ? route.definition.auth : null;
  } catch (error) {
    // Without a token, or of a server that tells nobody: the webhook itself says what is wrong.
    if (
      error instanceof CliError &&
      (error.exitCode === EXIT.unauthorised || error.exitCode === EXIT.notFound)
    ) {
      return null;
    }
    throw error;
  }
}
