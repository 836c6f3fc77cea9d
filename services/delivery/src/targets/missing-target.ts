import { isKnownTarget } from '@angelia/config';
import type { Target } from './target.ts';

/**
 * Stands for a target that the session names and that this version or config does not have. Its deliveries are dead, with the
 * reason for somebody to see. They never go to `log` or anywhere else instead (seed 000, no-silent-downgrade).
 */
export function missingTarget(name: string): Target {
  const reason = isKnownTarget(name)
    ? `target \`${name}\` is not configured: set \`targets.${name}\``
    : `there is no target \`${name}\` in this version`;
  return {
    name,
    idempotent: true,
    destination: () => ({ name: `missing ${name}`, chat: null }),
    compose: ({ text }) => [{ text }],
    send: async () => ({ kind: 'permanent', reason }),
    close: async () => {},
  };
}
