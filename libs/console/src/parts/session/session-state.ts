import type { Tone } from '../feedback/badge.tsx';

/** What of a session says how it is. */
export interface HasState {
  readonly status: 'queued' | 'running' | 'waiting' | 'ended';
  readonly waiting_for: string | null;
  readonly outcome: 'succeeded' | 'failed' | 'cancelled' | 'expired' | null;
}

const OUTCOMES: Readonly<Record<string, Tone>> = {
  succeeded: 'ok',
  failed: 'bad',
  expired: 'bad',
  cancelled: 'calm',
};

/** How a session is, in a few words. */
export function sessionState({ status, waiting_for, outcome }: HasState): {
  readonly tone: Tone;
  readonly text: string;
} {
  switch (status) {
    case 'queued':
      return { tone: 'calm', text: 'Queued' };
    case 'running':
      return { tone: 'busy', text: 'Running' };
    case 'waiting':
      if (waiting_for === null) return { tone: 'wait', text: 'Waiting' };
      return {
        tone: 'wait',
        text: `Waiting for ${waiting_for === 'approval' ? 'an' : 'a'} ${waiting_for}`,
      };
    case 'ended':
      return { tone: OUTCOMES[outcome ?? ''] ?? 'calm', text: capital(outcome ?? 'ended') };
  }
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
