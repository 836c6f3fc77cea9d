import type { EditResult, SendRequest, SendResult, Target } from '../targets/target.ts';

export interface ChunkInput {
  readonly target: Target;
  /** The request as a first attempt would make it. */
  readonly request: SendRequest;
  /** An earlier attempt at this chunk ended without a known outcome. */
  readonly mayBeThere: boolean;
  /** Receipt of the status message that this chunk replaces. */
  readonly editReceipt: string | null;
}

/**
 * Sends one message, or edits it into an earlier one. If an earlier attempt may have reached the target (a crash or a
 * timeout after sending), the target decides what happens:
 *
 * - It is idempotent: we send again with the same key, and nobody sees a second copy.
 * - It can be looked up: found means delivered, absent means send again.
 * - Neither works: we send again, marked as a possible duplicate. A target that takes requests and does not answer is
 *   usually down, and a lost answer is worse than one that says it may be the second.
 */
export async function sendChunk({
  target,
  request,
  mayBeThere,
  editReceipt,
}: ChunkInput): Promise<SendResult> {
  if (editReceipt !== null && target.edit !== undefined) {
    // Repeating an edit changes nothing, so an unknown outcome needs no care.
    const edited: EditResult = await target.edit(request, editReceipt);
    if (edited.kind !== 'gone') return edited;
  }
  if (!mayBeThere || target.idempotent) return await target.send(request);
  if (target.lookUp === undefined) return await target.send({ ...request, markDuplicate: true });
  const found = await target.lookUp(request);
  switch (found.kind) {
    case 'found':
      return { kind: 'taken', receipt: found.receipt };
    case 'absent':
      return await target.send(request);
    case 'retryable':
      return found;
    case 'cannot-tell':
      return await target.send({ ...request, markDuplicate: true });
  }
}
