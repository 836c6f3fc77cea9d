import { z } from 'zod';
import type { ChatFile, ChatUpdate } from '../../platform.ts';
import { readCommand } from '../read-command.ts';

/** Events of a room (https://spec.matrix.org/latest/client-server-api/#mroommessage) as chats know them. */

const relation = z.object({
  rel_type: z.string().optional(),
  event_id: z.string().optional(),
  is_falling_back: z.boolean().optional(),
  'm.in_reply_to': z.object({ event_id: z.string() }).optional(),
});
const contentSchema = z.object({
  msgtype: z.string(),
  body: z.string(),
  filename: z.string().optional(),
  url: z.string().optional(),
  info: z.object({ mimetype: z.string().optional(), size: z.number().optional() }).optional(),
  'm.mentions': z.object({ user_ids: z.array(z.string()).optional() }).optional(),
  'm.relates_to': relation.optional(),
});
const eventSchema = z.object({
  event_id: z.string(),
  type: z.string(),
  sender: z.string(),
  content: z.unknown(),
  state_key: z.string().optional(),
});
type Content = z.infer<typeof contentSchema>;

/** Who is in a room. */
export interface Members {
  /** By user id. */
  readonly names: ReadonlyMap<string, string>;
  /** A conversation of two. */
  readonly direct: boolean;
}

export interface EventSurroundings {
  /** Our own user id. */
  readonly self: string;
  readonly room: string;
  readonly members: Members;
}

const FILES: ReadonlySet<string> = new Set(['m.file', 'm.image', 'm.audio', 'm.video']);

/** Never throws: what it does not know is `other`. */
export function readEvent(raw: unknown, { self, room, members }: EventSurroundings): ChatUpdate {
  const event = eventSchema.safeParse(raw);
  if (!event.success) return { kind: 'other', updateId: 'unreadable', why: 'not an event that we know' };
  const { event_id: id, type, sender, state_key: state } = event.data;
  const updateId = `${self}:${id}`;
  const other = (why: string): ChatUpdate => ({ kind: 'other', updateId, why });
  if (sender === self) return other('our own message');
  if (type === 'm.room.encrypted') return other('encrypted');
  if (type !== 'm.room.message' || state !== undefined) return other('no message');
  const parsed = contentSchema.safeParse(event.data.content);
  if (!parsed.success) return other('redacted, or not a message that we know');
  const content = parsed.data;
  const { msgtype, 'm.relates_to': related } = content;
  if (related?.rel_type === 'm.replace') return other('an edit');
  // Bots write notices, and must not answer them.
  if (msgtype === 'm.notice') return other('written by a bot');
  const isFile = FILES.has(msgtype);
  if (!isFile && msgtype !== 'm.text' && msgtype !== 'm.emote') return other(`a message of type ${msgtype}`);
  const files = isFile ? filesOf(content) : [];
  const written = isFile ? captionOf(content) : withoutQuote(content);
  const { text, mentioned } = addressedIn(written, content, self, members);
  if (text === '' && files.length === 0 && !mentioned) return other('nothing to read');
  const thread = related?.rel_type === 'm.thread' ? (related.event_id ?? null) : null;
  return {
    kind: 'message',
    updateId,
    place: { platform: 'matrix', chat: room, thread },
    from: { id: sender, name: members.names.get(sender) || sender, bot: false },
    message: id,
    replyTo: replyOf(related),
    text,
    direct: members.direct,
    mentioned,
    // Some clients keep words with a slash for themselves.
    command: readCommand(text) ?? readCommand(text, '!'),
    forwarded: false,
    files,
    answerTo: { room_id: room, ...(thread === null ? {} : { thread_id: thread }) },
  };
}

/** Within a thread each message "replies" to the one before, for clients that do not know threads. */
function replyOf(related: z.infer<typeof relation> | undefined): string | null {
  if (related === undefined || (related.rel_type === 'm.thread' && related.is_falling_back !== false))
    return null;
  return related['m.in_reply_to']?.event_id ?? null;
}

/** Older clients repeat what they reply to: lines with `> `, then an empty one. */
function withoutQuote({ body, 'm.relates_to': related }: Content): string {
  if (related?.['m.in_reply_to'] === undefined || !/^> ?<@|^> ?\* ?<@/.test(body)) return body;
  const lines = body.split('\n');
  const first = lines.findIndex((line) => !line.startsWith('>'));
  return first === -1 ? '' : lines.slice(first).join('\n');
}

/** With `filename`, the body is a caption. */
function captionOf({ body, filename }: Content): string {
  return filename === undefined || filename === body ? '' : body;
}

/** The file of an encrypted message has no address here. */
function filesOf({ body, filename, url, info }: Content): ChatFile[] {
  if (url === undefined) return [];
  return [{ id: url, name: filename ?? body, mimeType: info?.mimetype ?? null, bytes: info?.size ?? null }];
}

/** Our name at the beginning is taken out. In the middle of a sentence it stays. */
function addressedIn(
  written: string,
  content: Content,
  self: string,
  { names }: Members,
): { readonly text: string; readonly mentioned: boolean } {
  const text = written.trim();
  const calls = [self, names.get(self) ?? ''].filter((name) => name !== '');
  const called = calls
    .flatMap((name) => [`@${name}`, name])
    .find(
      (name) =>
        text.toLowerCase().startsWith(name.toLowerCase()) && !/^[\p{L}\p{N}]/u.test(text.slice(name.length)),
    );
  const mentions = content['m.mentions'];
  // Since Matrix 1.7 clients list whom they mention. Before that, the text was all.
  const mentioned =
    mentions === undefined
      ? called !== undefined || text.includes(self)
      : (mentions.user_ids ?? []).includes(self);
  if (called === undefined || !mentioned) return { text, mentioned };
  return { text: text.slice(called.length).replace(/^[:,]?\s*/, ''), mentioned };
}
