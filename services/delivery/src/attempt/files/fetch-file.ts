import { contentIs, fileTypeOf } from '@angelia/chats';
import { FILE_SUBJECT, type FileRequest, fileAnswerSchema } from '@angelia/contracts';
import type { Loaded } from '@angelia/sessions';
import type { DeliveryContext } from '../../delivery-context.ts';
import type { OutboundFile } from '../../targets/target.ts';
import type { NamedFile } from '../../text/cut/chunk.ts';

export type FetchedFile =
  | { readonly kind: 'file'; readonly file: OutboundFile }
  /** It follows `was not sent: `. */
  | { readonly kind: 'refused'; readonly why: string }
  /** Its host does not answer now. */
  | { readonly kind: 'away' };

/** A watcher reads half a megabyte in a millisecond. It must leave time for the request to the platform. */
const ANSWER_MS = 2_000;
/** What watchers give at most. */
const PART_BYTES = 512 * 1024;

/** Brings a file from the host that has the session's directory, if its size, type and content are what the session allows. */
export async function fetchFile(
  { path, why }: NamedFile,
  { id, state }: Loaded,
  { bus }: Pick<DeliveryContext, 'bus'>,
): Promise<FetchedFile> {
  const bounds = state.created?.deliverFiles;
  if (why !== null || bounds === undefined) return refused(why ?? 'the session does not deliver files');
  const name = path.slice(path.lastIndexOf('/') + 1);
  const type = fileTypeOf(name);
  if (type === null || !bounds.types.includes(type)) {
    return refused(
      type === null ? 'its name does not show its type' : `files of type ${type} are not sent here`,
    );
  }
  const watcher = state.watcher ?? null;
  if (watcher === null) return refused('the session ran no command, so it has no files');
  const parts: Buffer[] = [];
  let version: string | null = null;
  for (let offset = 0; ; ) {
    const request: FileRequest = { session_id: id, watcher, path, offset, limit: PART_BYTES };
    const answered = await bus.request(FILE_SUBJECT, JSON.stringify(request), ANSWER_MS).catch(() => null);
    if (answered === null) return { kind: 'away' };
    const answer = fileAnswerSchema.parse(JSON.parse(answered));
    if (answer.kind === 'refused') return answer;
    if (version !== null && version !== answer.version) return refused('it was changed while it was read');
    version = answer.version;
    const data = Buffer.from(answer.data, 'base64');
    parts.push(data);
    offset += data.length;
    if (offset > bounds.max_bytes) return refused(`it has more than ${bounds.max_bytes} bytes`);
    if (offset >= answer.size) break;
    if (data.length === 0) return refused('it was changed while it was read');
  }
  const bytes = Buffer.concat(parts);
  if (bytes.length === 0) return refused('it is empty');
  if (!contentIs(type, bytes)) return refused(`its content is not ${type}`);
  return { kind: 'file', file: { name, type, bytes } };
}

function refused(why: string): FetchedFile {
  return { kind: 'refused', why };
}
