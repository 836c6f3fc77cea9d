import type { Auth, Config, ConfigProblem, RouteConfig } from '@angelia/contracts';
import { ed25519KeyOfHex, isPublicKey, standardKeysOf } from '../secrets/standard-secret.ts';
import { INSECURE_NO_AUTH } from './secrets.ts';

const BEARER_TOKEN = /^[!-~]+$/;

/** Secrets that can never match by the scheme that the route names: it would refuse every webhook and not say why. */
export function schemeSecretProblems(config: Config, name: string, route: RouteConfig): ConfigProblem[] {
  const { auth } = route;
  if (auth === undefined) return [];
  const secrets = [route.secret ?? config.secret ?? []].flat().filter((one) => one !== INSECURE_NO_AUTH);
  const reasons = secrets.flatMap((secret) => secretProblem(schemeOf(auth), secret) ?? []);
  return reasons.slice(0, 1).map((reason) => ({ place: `routes.${name}.secret`, reason }));
}

function schemeOf(auth: Auth): string {
  return typeof auth === 'string' ? auth : auth.scheme;
}

function secretProblem(scheme: string, secret: string): string | null {
  if (scheme === 'standard-webhooks' || scheme === 'svix') return standardSecretProblem(secret);
  if (isPublicKey(secret)) {
    return `a public key (\`whpk_\`) works only with standard-webhooks and svix. ${scheme} needs a secret that nobody else knows.`;
  }
  if (scheme === 'bearer' && !BEARER_TOKEN.test(secret)) {
    return 'a bearer token can contain only visible ASCII characters and no spaces. Choose another secret, for example with `openssl rand -hex 32`.';
  }
  if (scheme === 'discord' && ed25519KeyOfHex(secret) === null) {
    return "`auth: discord` needs the application's public key, 64 hex digits. Copy it from General Information in the Developer Portal.";
  }
  return null;
}

function standardSecretProblem(secret: string): string | null {
  const { symmetric, publicKey } = standardKeysOf(secret);
  if (symmetric.length > 0 || publicKey !== null) return null;
  return isPublicKey(secret)
    ? '`whpk_` must be followed by the 32 bytes of an ed25519 public key in base64. Copy it again.'
    : '`whsec_` must be followed by base64. Copy the secret from the provider again.';
}
