import { z } from 'zod';
import type { ChatUpdate, PlatformSettings } from '../platform.ts';
import { commandIn, isQuoted } from './first-line.ts';

/**
 * Webhook events of GitHub about comments, as chats know them. A comment has one `created` event, so the comment's id is the
 * idempotency key: it is signed, unlike `X-GitHub-Delivery`, and the hooks of a repository and of its organisation both send it.
 */

const user = z.object({ id: z.number().int(), login: z.string(), type: z.string() });
const comment = z.object({
  id: z.number().int(),
  body: z.string().nullable(),
  created_at: z.string(),
  user: user.nullable(),
  author_association: z.string().default('NONE'),
  performed_via_github_app: z.unknown().optional(),
  in_reply_to_id: z.number().int().optional(),
});
/** Answers go to an address that has it, so `..` would lead elsewhere in the API's path. */
const repository = z.object({
  full_name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]*\/(?!\.{1,2}$)[A-Za-z0-9._-]+$/),
});
const onIssue = z.object({
  action: z.string(),
  comment,
  issue: z.object({ number: z.number().int(), pull_request: z.unknown().optional() }),
  repository,
  sender: user,
});
const onReview = z.object({
  action: z.string(),
  comment,
  pull_request: z.object({ number: z.number().int() }),
  repository,
  sender: user,
});

/** The conversation of an issue or pull request: GitHub has no replies there, so all of it is one thread. */
export const CONVERSATION = 'comments';

/** Of our own comments (delivery writes it). It tells them from those of a person who has the same account. */
const OUR_MARKER = /^\s*<!-- angelia:[0-9a-f]{32} -->/;

/**
 * GitHub signs no time, and a taken comment is known for 7 days at least. An older event was sent by somebody who had kept it:
 * GitHub lets people redeliver an event for three days.
 */
const OLDEST_MS = 6 * 24 * 3_600_000;

export function readEvent(
  event: string,
  body: unknown,
  settings: PlatformSettings,
  nowMs: number,
): ChatUpdate {
  const isReview = event === 'pull_request_review_comment';
  if (!isReview && event !== 'issue_comment') return other(`github:${event}`, 'no comment');
  const parsed = isReview ? onReview.safeParse(body) : onIssue.safeParse(body);
  if (!parsed.success) return other('github:unreadable', 'not an event that we know');
  const { action, comment: said, repository: repo, sender } = parsed.data;
  const updateId = `${isReview ? 'review-comment' : 'comment'}:${said.id}`;
  if (action !== 'created') return other(`${updateId}:${action}`, 'not a new comment');
  // A date that cannot be parsed counts as missing.
  if (!(Date.parse(said.created_at) >= nowMs - OLDEST_MS))
    return other(updateId, 'too old, or without a date');
  // Somebody else may have pressed a button that makes GitHub write in their name.
  if (said.user === null || said.user.id !== sender.id) return other(updateId, 'not written by its sender');
  if (said.user.type !== 'User') return other(updateId, 'a bot');
  if (said.performed_via_github_app) return other(updateId, 'written by an app');
  const bot = settings.chat.bot_name;
  if (said.user.login.toLowerCase() === String(bot).toLowerCase()) return other(updateId, 'our own account');
  const whole = said.body ?? '';
  if (OUR_MARKER.test(whole)) return other(updateId, 'our own comment');
  if (isReview && said.in_reply_to_id === undefined) return other(updateId, 'no reply in a review thread');
  const number =
    'issue' in parsed.data ? parsed.data.issue.number : (parsed.data.pull_request.number as number);
  const { mentioned, text } = withoutMention(whole.replaceAll('\r\n', '\n'), String(bot));
  const command = commandIn(text);
  // Most comments on an issue are not for us, and each of them causes an event.
  if (!mentioned && command === null && settings.chat.mention !== false)
    return other(updateId, 'neither a mention nor a command');
  if (text === '') return other(updateId, 'nothing to read');
  const root = said.in_reply_to_id;
  const isPull = isReview || ('issue' in parsed.data && parsed.data.issue.pull_request !== undefined);
  return {
    kind: 'message',
    updateId,
    place: {
      platform: 'github_comment',
      chat: `${repo.full_name}#${number}`,
      thread: root === undefined ? CONVERSATION : `review-${root}`,
    },
    from: {
      id: String(said.user.id),
      name: said.user.login,
      bot: false,
      listedAs: [said.user.login.toLowerCase()],
      letIn: letIn(settings).includes(said.author_association),
    },
    message: `${isReview ? 'discussion_r' : 'issuecomment-'}${said.id}`,
    replyTo: null,
    text,
    direct: false,
    mentioned: mentioned || command !== null,
    command,
    forwarded: false,
    files: [],
    answerTo: {
      repo: repo.full_name,
      [isPull ? 'pr_number' : 'issue_number']: String(number),
      ...(root === undefined ? {} : { review_comment_id: String(root) }),
    },
  };
}

function letIn({ chat }: PlatformSettings): readonly string[] {
  return Array.isArray(chat.associations) ? (chat.associations as string[]) : [];
}

function other(updateId: string, why: string): ChatUpdate {
  return { kind: 'other', updateId, why };
}

/**
 * Whether the text speaks to us, and the text without the first mention. A mention in a quotation or in code notifies nobody at
 * GitHub, so it does not count here either.
 */
function withoutMention(whole: string, bot: string): { readonly mentioned: boolean; readonly text: string } {
  const mention = new RegExp(`(?<![\\w@/.\`-])@${escaped(bot)}(?![\\w-])[,:]?[ \\t]*`, 'i');
  let fence: string | null = null;
  let mentioned = false;
  const lines = whole.split('\n').map((line) => {
    const [, mark = null] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? [];
    if (mark !== null && (fence === null || mark.startsWith(fence))) fence = fence === null ? mark : null;
    if (mentioned || fence !== null || mark !== null || isQuoted(line)) return line;
    // Code within the line keeps its length, so that places in it are those of the line.
    const found = mention.exec(line.replaceAll(/`+[^`]*`+/g, (code) => ' '.repeat(code.length)));
    if (found === null) return line;
    mentioned = true;
    return line.slice(0, found.index) + line.slice(found.index + found[0].length);
  });
  return { mentioned, text: lines.join('\n').trim() };
}

/** Logins have letters, digits and hyphens; `[bot]` of an app is not part of its mention. */
function escaped(bot: string): string {
  return bot.replace(/\[bot\]$/i, '').replaceAll(/[^A-Za-z0-9-]/g, '');
}
