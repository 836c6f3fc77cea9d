import { type CommandAgentConfig, type Config, isSecretVariable } from '@angelia/contracts';
import { objectAt } from '../load/address-variables.ts';
import { variablesIn } from '../load/variables.ts';
import { secretsInUrl } from './redaction.ts';

/** `CLAUDE_CODE_MAX_OUTPUT_TOKENS: "32000"` is a setting, although its name looks like a secret. */
const NUMBER = /^[\d_.]+$/;

/**
 * The values of a program's `env` that must not appear in what it prints. Not all of them: a program may name its model and
 * its directory, and an answer in which these words are replaced is a wrong answer.
 */
export function secretEnvironmentOf({ env, secret_env }: CommandAgentConfig): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    const marked = secret_env.includes(name) || (isSecretVariable(name) && !NUMBER.test(value));
    return marked ? [value] : secretsInUrl(value);
  });
}

/** Adds to `secret_env` what only the file shows: a value that was filled in from a variable with the name of a secret. */
export function markSecretEnvironment(config: Config, written: unknown): Config {
  const agents = Object.entries(config.agents).map(([name, agent]) => {
    if (agent.kind !== 'command') return [name, agent] as const;
    const env = objectAt(objectAt(objectAt(written, 'agents'), name), 'env');
    const filled = Object.keys(agent.env).filter((key) => [...variablesIn(env[key])].some(isSecretVariable));
    return [name, { ...agent, secret_env: [...new Set([...agent.secret_env, ...filled])] }] as const;
  });
  return { ...config, agents: Object.fromEntries(agents) };
}
