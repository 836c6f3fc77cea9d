import type { EventData } from '@angelia/contracts';
import { accept, alreadySo, type Decision, fact, refuse } from '../decision.ts';
import { fence } from '../guards.ts';
import type { SessionState } from '../state.ts';

/**
 * When the conversation nears the model's window, a summary takes the place of its older part: for the model, from
 * then on. Nothing is taken out of the log; `transcript` reads past what was replaced.
 */
export interface CompressContext {
  readonly type: 'compress-context';
  readonly generation: number;
  /** The n-th of this run (`state.run.compressions + 1`). */
  readonly sequence: number;
  /** Of the turn under way the steps up to this version are replaced; of what is before the turn, everything. */
  readonly throughVersion: number;
  readonly summary: string;
  /** In place of the turn's input, when that alone is too long; null: as it was given. */
  readonly input: string | null;
  readonly model: string;
  readonly usage: EventData<'context.compressed'>['usage'];
}

export function compressContext(state: SessionState, command: CompressContext): Decision {
  const held = fence(state, command.generation);
  if (!held.ok) return held;
  const { run, turn } = held;
  if (command.sequence <= (run.compressions ?? 0)) return alreadySo;
  // A step whose calls are under way cannot be replaced: their results would stand without them.
  const open = turn.calls.find((call) => call.status !== 'done');
  if (open !== undefined) return refuse('tools_open', `call ${open.id} has no result yet`);
  return accept(
    fact('context.compressed', {
      generation: run.generation,
      turn: turn.turn,
      sequence: command.sequence,
      through_version: command.throughVersion,
      summary: command.summary,
      input: command.input,
      model: command.model,
      usage: command.usage,
    }),
  );
}
