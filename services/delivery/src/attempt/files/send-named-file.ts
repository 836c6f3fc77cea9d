import type { SendPlan } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import type { DeliveryContext } from '../../delivery-context.ts';
import type { SendResult } from '../../targets/target.ts';
import type { NamedFile } from '../../text/cut/chunk.ts';
import { type ChunkInput, sendChunk } from '../send-chunk.ts';
import { fetchFile } from './fetch-file.ts';

/**
 * A restarting host is back by then. A longer wait would hold back the next answers of the session (in-order-once), and the
 * text of this one has already arrived.
 */
const TRIES_OF_HOST = 3;

/** Sends a file that the output names. If the file cannot be sent, a line says why (invariant no-silent-downgrade). */
export async function sendNamedFile(
  input: ChunkInput,
  file: NamedFile,
  { loaded, plan }: { readonly loaded: Loaded; readonly plan: Pick<SendPlan, 'failures'> },
  context: Pick<DeliveryContext, 'bus' | 'policy'>,
): Promise<SendResult> {
  const { target, request, mayBeThere } = input;
  const tell = (why: string): Promise<SendResult> => {
    const [chunk] = target.compose({ ...request.message, text: lineFor(file, why) }, request.settings);
    // Every text has a chunk.
    if (chunk === undefined) throw new Error(`target ${target.name} composed nothing`);
    return sendChunk({ ...input, request: { ...request, chunk } });
  };
  if (target.sendFile === undefined) return tell(`files are not sent to ${target.name}`);
  const fetched = await fetchFile(file, loaded, context);
  switch (fetched.kind) {
    case 'refused':
      return tell(fetched.why);
    case 'away': {
      const isLast =
        plan.failures + 1 >= TRIES_OF_HOST ||
        context.policy.retry_schedule_seconds[plan.failures] === undefined;
      if (isLast) return tell('its host does not answer');
      return { kind: 'retryable', reason: `not sent: the host of ${file.path} does not answer`, ours: true };
    }
    case 'file': {
      const markDuplicate = mayBeThere && !target.idempotent;
      const sent = await target.sendFile({ ...request, markDuplicate }, fetched.file);
      // The platform took the text of the answer, so it refuses only the file.
      return sent.kind === 'permanent' ? tell(sent.reason) : sent;
    }
  }
}

/** As code, because a name can look like markup or an address. `why` of the log has no control characters. */
function lineFor({ path }: NamedFile, why: string): string {
  const shown = path.replaceAll(/[\p{Cc}\p{Cf}`]/gu, '?').slice(0, 200);
  return `\`${shown}\` was not sent: ${why}.`;
}
