import type { EventData } from '@angelia/contracts';
import { accept, alreadySo, type Decision, fact } from '../decision.ts';
import { withEnd } from '../ending/decide-ending.ts';
import { fence } from '../guards.ts';
import type { SessionState } from '../state.ts';

/**
 * Outputs: what the session says to its target. They are facts first and are sent from the log only (invariant
 * written-before-sent; seed 003), in order. An answer that is empty or says `[SILENT]` is kept and not sent.
 */
export interface SayInterim {
  readonly type: 'interim-status';
  readonly generation: number;
  /** The n-th status of this run (`state.run.statuses + 1`). */
  readonly sequence: number;
  readonly kind: EventData<'session.interim-status'>['kind'];
  readonly text: string;
}

export interface FinishTurn {
  readonly type: 'finish-turn';
  readonly generation: number;
  readonly text: string;
}

export function sayInterim(state: SessionState, command: SayInterim): Decision {
  const held = fence(state, command.generation);
  if (!held.ok) return held;
  if (command.sequence <= held.run.statuses) return alreadySo;
  return accept(
    fact('session.interim-status', {
      generation: held.run.generation,
      turn: held.turn.turn,
      sequence: command.sequence,
      kind: command.kind,
      text: command.text,
    }),
  );
}

export function finishTurn(state: SessionState, command: FinishTurn): Decision {
  const held = fence(state, command.generation);
  if (!held.ok) return held;
  return withEnd(state, [
    fact('session.final-response', {
      generation: held.run.generation,
      turn: held.turn.turn,
      text: command.text,
      outcome: 'succeeded',
      silent: isSilent(command.text),
    }),
  ]);
}

/** Nothing to say (D3), or the agent's way to say that it wants to say nothing (D4). */
export function isSilent(text: string): boolean {
  const said = text.trim();
  return said === '' || said.toUpperCase().startsWith('[SILENT]');
}
