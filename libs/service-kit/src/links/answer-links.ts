import type { Environment } from '@angelia/config';
import { agentsThatAsk, publicUrl, StartupError, toolsetsOf } from '@angelia/config';
import { type Config, isSessionId, type SessionId } from '@angelia/contracts';
import { signedLinks } from './signed-links.ts';

/** Names a question, or a request for approval, by its session and the version of its event. */
export interface QuestionName {
  readonly sessionId: SessionId;
  readonly output: number;
}

/** The links that answer a question or decide about a request: delivery puts them into the message, ingress reads them. */
export interface AnswerLinks {
  url(question: QuestionName): string;
  approvalUrl(request: QuestionName): string;
  /** Null: we did not make this token for a question. */
  read(token: string): QuestionName | null;
}

const HOW_TO_SET =
  'Set it to 32 bytes in base64 (`openssl rand -base64 32`), the same for ingress and delivery';

/**
 * Null: there is no key, and no agent asks a person.
 *
 * @throws StartupError if an agent asks a person and there is no key: there would be no links
 */
export function answerLinks(
  config: Pick<Config, 'agents' | 'routes' | 'public_url'>,
  environment: Pick<Environment, 'service' | 'masterKey' | 'host' | 'port'>,
): AnswerLinks | null {
  const { masterKey, service } = environment;
  if (masterKey === undefined) {
    const asking = Object.entries(config.agents).find(([, agent]) => toolsetsOf(agent).includes('clarify'));
    const [approving] = agentsThatAsk(config);
    if (approving !== undefined) {
      throw new StartupError([
        `ANGELIA_MASTER_KEY (environment of ${service}): not set, and a policy of agent \`${approving}\` asks for approvals, ` +
          `whose requests need a signed link. ${HOW_TO_SET}`,
      ]);
    }
    if (asking === undefined) return null;
    throw new StartupError([
      `ANGELIA_MASTER_KEY (environment of ${service}): not set, and agent \`${asking[0]}\` has the toolset \`clarify\`, ` +
        `whose questions need a signed link. ${HOW_TO_SET}`,
    ]);
  }
  const links = signedLinks(masterKey, 'answer');
  const base = publicUrl(config, environment);
  return {
    url: ({ sessionId, output }) => `${base}/answers/${links.token(sessionId, String(output))}`,
    approvalUrl: ({ sessionId, output }) => `${base}/approvals/${links.token(sessionId, String(output))}`,
    read: (token) => {
      const [id = '', version = '', ...more] = links.read(token) ?? [];
      if (more.length > 0 || !isSessionId(id) || !/^[1-9][0-9]{0,9}$/.test(version)) return null;
      return { sessionId: id, output: Number(version) };
    },
  };
}
