import type { Target } from './target.ts';

/**
 * Stands for a target that the session names and this version or config does not have. Its deliveries are dead with
 * the reason, which someone sees; they never go to `log` or anywhere else instead (seed 000, no-silent-downgrade).
 */
export function missingTarget(name: string): Target {
  return {
    name,
    checkSettings: () => [],
    destination: () => `missing ${name}`,
    send: async () => ({ kind: 'permanent', reason: `there is no target \`${name}\` in this version` }),
    close: async () => {},
  };
}
