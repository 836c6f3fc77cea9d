import type { EventData } from '@angelia/contracts';
import { accept, alreadyDone, type Decision, fact } from '../decision.ts';
import { withEnd } from '../ending/decide-ending.ts';
import { requireOpenRun } from '../guards.ts';
import type { SessionState } from '../state.ts';

/**
 * Outputs: what the session says to its target. An output is recorded first and sent only from the log (invariant
 * written-before-sent; seed 003), in order. An answer that is empty or says `[SILENT]` is recorded and not sent.
 */
export interface SayInterim {
  readonly type: 'interim-status';
  readonly generation: number;
  /** The number of the status within this run (`state.run.statuses + 1`). */
  readonly sequence: number;
  readonly kind: EventData<'session.interim-status'>['kind'];
  readonly text: string;
}

export interface FinishTurn {
  readonly type: 'finish-turn';
  readonly generation: number;
  readonly text: string;
  /** The answer is not whole. */
  readonly cut?: boolean;
}

export function sayInterim(state: SessionState, command: SayInterim): Decision {
  const held = requireOpenRun(state, command.generation);
  if (!held.ok) return held;
  if (command.sequence <= held.run.statuses) return alreadyDone;
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
  const held = requireOpenRun(state, command.generation);
  if (!held.ok) return held;
  return withEnd(state, [
    fact('session.final-response', {
      generation: held.run.generation,
      turn: held.turn.turn,
      text: command.text,
      outcome: 'succeeded',
      silent: isSilent(command.text),
      ...(command.cut ? { cut: true } : {}),
    }),
  ]);
}

/** The answer is empty (D3), or the agent asks to send nothing (D4). */
export function isSilent(text: string): boolean {
  const said = text.trim();
  return said === '' || said.toUpperCase().startsWith('[SILENT]');
}
