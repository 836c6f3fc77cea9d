import type { EventData } from '@angelia/contracts';
import { accept, alreadyDone, type Decision, fact, refuse } from '../decision.ts';
import { requireOpenRun } from '../guards.ts';
import type { SessionState } from '../state.ts';

/**
 * When the conversation comes close to the model's context window, a summary replaces its older part in what the model
 * sees from then on. The log keeps everything; `transcript` skips what was replaced.
 */
export interface CompressContext {
  readonly type: 'compress-context';
  readonly generation: number;
  /** The number of the compression within this run (`state.run.compressions + 1`). */
  readonly sequence: number;
  /** Replaces the steps of the current turn up to this version, and everything before the turn. */
  readonly throughVersion: number;
  readonly summary: string;
  /** Replaces the input of the turn if that alone is too long. Null: the input stays. */
  readonly input: string | null;
  readonly model: string;
  readonly usage: EventData<'context.compressed'>['usage'];
}

export function compressContext(state: SessionState, command: CompressContext): Decision {
  const held = requireOpenRun(state, command.generation);
  if (!held.ok) return held;
  const { run, turn } = held;
  if (command.sequence <= (run.compressions ?? 0)) return alreadyDone;
  // A step with open calls cannot be replaced: their results would have no call.
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
