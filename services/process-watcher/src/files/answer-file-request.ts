import { type FileAnswer, fileRequestSchema, isSessionId } from '@angelia/contracts';
import type { Sessions } from '@angelia/sessions';
import type { SessionDirectories } from '../session-directories.ts';
import { readInDirectory } from './read-in-directory.ts';

/** In Base64, this and the rest of the answer fit into one NATS message (1 MB by default). */
const MOST_BYTES = 512 * 1024;

interface FileSource {
  readonly sessions: Pick<Sessions, 'load'>;
  readonly directories: Pick<SessionDirectories, 'workDirectory'>;
  readonly instance: string;
}

/**
 * Answers delivery's request for a part of a file that an answer names. Null: the session's files are on another host. The
 * session must have been created with this (config-is-a-fact), whoever asks.
 */
export async function answerFileRequest(
  payload: string,
  { sessions, directories, instance }: FileSource,
): Promise<string | null> {
  const parsed = fileRequestSchema.safeParse(JSON.parse(payload));
  if (!parsed.success || !isSessionId(parsed.data.session_id)) return null;
  const { session_id: id, watcher, path, offset, limit } = parsed.data;
  if (watcher !== instance) return null;
  const { created } = (await sessions.load(id)).state;
  const bounds = created?.deliverFiles;
  if (bounds === undefined) return answer({ kind: 'refused', why: 'the session does not deliver files' });
  const part = await readInDirectory(directories.workDirectory(id), path, {
    offset,
    limit: Math.min(limit, MOST_BYTES),
    maxBytes: bounds.max_bytes,
  });
  return answer(part.kind === 'part' ? { ...part, data: part.data.toString('base64') } : part);
}

function answer(said: FileAnswer): string {
  return JSON.stringify(said);
}
