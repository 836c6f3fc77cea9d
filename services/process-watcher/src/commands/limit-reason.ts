import type { ProcessWatcherConfig } from '@angelia/contracts';
import type { ExitRecord } from '../supervisor/protocol.ts';

/** Why we ended a command, for the model and the operator; null if we did not. */
export function limitReason(limit: ExitRecord['limit'], config: ProcessWatcherConfig): string | null {
  switch (limit) {
    case 'lifetime':
      return `it ran longer than ${config.max_lifetime_seconds} s, which is the limit`;
    case 'idle':
      return `it printed nothing for ${config.max_idle_seconds} s, which is the limit`;
    case 'memory':
      return `the session's commands used more than ${Math.ceil(config.session_memory_bytes / 1_048_576)} MB of memory together, which is the limit`;
    case 'stopped':
      return 'on request';
    case null:
      return null;
  }
}
