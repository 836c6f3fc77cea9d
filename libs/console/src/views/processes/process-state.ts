import type { SessionProcess } from '../../api/calls/process-calls.ts';
import type { Tone } from '../../parts/feedback/badge.tsx';

type Ended = Pick<SessionProcess, 'status' | 'exit_code' | 'signal'>;

/** How a process is, in a few words. */
export function processState({ status, exit_code, signal }: Ended): {
  readonly tone: Tone;
  readonly text: string;
} {
  if (status === 'running') return { tone: 'busy', text: 'Running' };
  if (status === 'lost') return { tone: 'bad', text: 'Lost' };
  if (signal !== null) return { tone: 'bad', text: `Ended by ${signal}` };
  if (exit_code === null) return { tone: 'calm', text: 'Ended' };
  return exit_code === 0 ? { tone: 'ok', text: 'Exit 0' } : { tone: 'bad', text: `Exit ${exit_code}` };
}
