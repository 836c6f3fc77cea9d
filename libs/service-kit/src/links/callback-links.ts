import type { Environment } from '@angelia/config';
import { publicUrl, StartupError } from '@angelia/config';
import { type Config, isSessionId, type SessionId } from '@angelia/contracts';
import { signedLinks } from './signed-links.ts';

/** Names a call of an agent by its session and the call of its turn. */
export interface CallName {
  readonly sessionId: SessionId;
  readonly callId: string;
}

/** The links by which an agent of kind http answers later: the runner sends them, ingress reads them. */
export interface CallbackLinks {
  url(call: CallName): string;
  /** Null: we did not make this token for a call. */
  read(token: string): CallName | null;
}

/**
 * Null: there is no key, and no agent calls back.
 *
 * @throws StartupError if there is such an agent and no key: nobody could verify its callbacks
 */
export function callbackLinks(
  config: Pick<Config, 'agents' | 'public_url'>,
  environment: Pick<Environment, 'service' | 'masterKey' | 'host' | 'port'>,
): CallbackLinks | null {
  const { masterKey, service } = environment;
  if (masterKey === undefined) {
    const calling = Object.entries(config.agents).find(([, agent]) => agent.kind === 'http');
    if (calling === undefined) return null;
    throw new StartupError([
      `ANGELIA_MASTER_KEY (environment of ${service}): not set, and agent \`${calling[0]}\` is of kind http, which gets ` +
        'a signed link to call back. Set it to 32 bytes in base64 (`openssl rand -base64 32`), the same for ingress ' +
        'and agent-runner',
    ]);
  }
  const links = signedLinks(masterKey, 'callback');
  const base = publicUrl(config, environment);
  return {
    url: ({ sessionId, callId }) => `${base}/callbacks/${links.token(sessionId, callId)}`,
    read: (token) => {
      const [id = '', callId = '', ...more] = links.read(token) ?? [];
      return more.length > 0 || !isSessionId(id) || callId === '' ? null : { sessionId: id, callId };
    },
  };
}
