import type { Entry, SendGate, SendIntent } from './send-gate.ts';
import type { SharedRates } from './shared-rates.ts';

/** The gate as one session sees it. */
export interface SessionGate
  extends Pick<SendGate, 'isDown' | 'sending' | 'leave'>,
    Pick<SharedRates, 'takeTurn' | 'pause'> {
  /** Null: the session has to wait, and is woken when it can try again. */
  enter(intent: SendIntent): Entry | null;
  /** A claim is committed: the hint need not come again. */
  onClaimed(): void;
  /** The service is going down: no further claim. */
  draining(): boolean;
}

export function gateFor(
  sessionId: string,
  gate: SendGate,
  rates: SharedRates,
  { onClaimed, draining }: Pick<SessionGate, 'onClaimed' | 'draining'>,
): SessionGate {
  return {
    enter: (intent) => gate.enter(sessionId, intent),
    leave: (entry, verdict) => gate.leave(entry, verdict),
    isDown: (intent) => gate.isDown(intent),
    sending: (intent) => gate.sending(intent),
    takeTurn: (intent, maxMs, entered) => rates.takeTurn(intent, maxMs, entered),
    pause: (intent, scope, seconds) => rates.pause(intent, scope, seconds),
    onClaimed,
    draining,
  };
}
