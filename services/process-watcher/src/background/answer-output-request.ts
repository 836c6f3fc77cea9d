import { existsSync } from 'node:fs';
import { isSessionId, type OutputAnswer, outputRequestSchema } from '@angelia/contracts';
import type { HostCommands } from '../commands/host-commands.ts';
import { asText, readOutput, readTail } from '../commands/read-output.ts';
import { OUTPUT } from '../supervisor/protocol.ts';

const PROCESS_ID = /^proc_[0-9a-f]{16}$/;

/** Answers the API's request for a part of a process's output; null if its files are not on this host. */
export async function answerOutputRequest(
  payload: string,
  commands: Pick<HostCommands, 'directory'>,
): Promise<string | null> {
  const parsed = outputRequestSchema.safeParse(JSON.parse(payload));
  if (!parsed.success) return null;
  const { session_id, process_id, offset, limit } = parsed.data;
  // Both become part of a path.
  if (!isSessionId(session_id) || !PROCESS_ID.test(process_id)) return null;
  const dir = commands.directory(session_id, process_id);
  if (!existsSync(dir)) return null;
  const part = offset === null ? readTail(dir, OUTPUT, limit) : readOutput(dir, OUTPUT, offset, limit);
  const answer: OutputAnswer = {
    output: asText(part.bytes, { start: part.from > 0, end: part.next < part.end }),
    offset: part.from,
    next_offset: part.next,
    kept_from: part.kept,
    at_end: part.next >= part.end,
  };
  return JSON.stringify(answer);
}
