import { pause } from '@angelia/waiting';
import type { ChatUpdate, ConnectionContext } from '../../platform.ts';
import { CallRefused } from '../call-json.ts';
import { callSlack, SlackRefused } from './api.ts';
import { readUpdate } from './updates.ts';

/** Slack allows some 50 calls of these methods a minute, and delivery reads channels, too. */
const MOST_CALLS = 40;
/** The newest messages of a channel, and of each thread below them. More in one call makes Slack slow. */
const PAGE = 200;
/** If Slack asks for more time than that, or does not say. */
const BUSY_SECONDS = 60;
/**
 * While Slack has trouble, it may answer with status 200 and one of these errors:
 * https://docs.slack.dev/reference/methods/conversations.history#errors
 */
const PASSING: ReadonlySet<string> = new Set([
  'fatal_error',
  'internal_error',
  'ratelimited',
  'request_timeout',
  'service_unavailable',
]);

type Answer = Readonly<Record<string, unknown>>;

/**
 * What people wrote while no socket was open: Slack repeats an event for some minutes only. So the channels of the bot, and the
 * threads below their newest messages, are read for what is newer than the last message taken. Returns it oldest first.
 *
 * If something could not be read (the app lacks a scope, or there are too many channels), the operator is told, and the chat
 * continues.
 *
 * @throws Error if Slack does not answer now
 */
export async function readMissed(context: ConnectionContext, since: string): Promise<readonly ChatUpdate[]> {
  const found = new Map<string, ChatUpdate>();
  try {
    for await (const [ts, update] of missedMessages(context, since)) found.set(ts, update);
  } catch (error) {
    const isForGood =
      (error instanceof SlackRefused && !PASSING.has(error.error)) ||
      error instanceof TooMuch ||
      // Such as a second 429. Slack would soon refuse another attempt too.
      (error instanceof CallRefused && error.status < 500);
    if (!isForGood) throw error;
    context.tell(
      `some messages that were written in Slack while no ingress was connected were not read: ${error.message}`,
    );
  }
  return [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, update]) => update);
}

async function* missedMessages(
  context: ConnectionContext,
  since: string,
): AsyncGenerator<readonly [ts: string, update: ChatUpdate]> {
  let calls = 0;
  async function call(method: string, body: Readonly<Record<string, string>>): Promise<Answer> {
    calls += 1;
    if (calls > MOST_CALLS) throw new TooMuch(`that takes more than ${MOST_CALLS} calls`);
    try {
      return await callSlack(method, body, context);
    } catch (error) {
      if (!(error instanceof CallRefused && error.status === 429)) throw error;
      await pause(Math.min(error.retryAfterSeconds ?? BUSY_SECONDS, BUSY_SECONDS) * 1000, context.signal);
      return callSlack(method, body, context);
    }
  }
  const tellCut = (where: string) =>
    context.tell(
      `${where} has more than ${PAGE} messages that were written while no ingress was connected: the others were not read`,
    );
  const { team_id, user_id } = await call('auth.test', {});
  const { channels } = await call('users.conversations', {
    types: 'public_channel,private_channel,im,mpim',
    exclude_archived: 'true',
    limit: `${PAGE}`,
  });
  for (const { id, is_im: isDirect } of listed(channels)) {
    const channel = String(id);
    // As Slack would have sent it.
    const eventOf = (message: Answer) => ({
      type: 'event_callback',
      event_id: `missed-${message.ts}`,
      team_id,
      authorizations: [{ user_id, is_bot: true }],
      event: { ...message, channel, channel_type: isDirect === true ? 'im' : 'channel' },
    });
    const isMissed = ({ ts }: Answer) => typeof ts === 'string' && ts > since;
    const history = await call('conversations.history', { channel, limit: `${PAGE}` });
    const newest = listed(history.messages);
    if (history.has_more === true && newest.every(isMissed)) tellCut(`channel ${channel} of Slack`);
    for (const root of newest) {
      const { ts, latest_reply: latest } = root;
      const messages = [root];
      if (typeof latest === 'string' && latest > since) {
        const body = { channel, ts: String(ts), oldest: since, limit: `${PAGE}` };
        const replies = await call('conversations.replies', body);
        if (replies.has_more === true) tellCut(`a thread of channel ${channel} of Slack`);
        messages.push(...listed(replies.messages));
      }
      for (const message of messages.filter(isMissed)) {
        yield [`${message.ts} ${channel}`, readUpdate(eventOf(message), context.settings, Date.now())];
      }
    }
  }
}

class TooMuch extends Error {
  override readonly name = 'TooMuch';
}

const listed = (value: unknown): readonly Answer[] => (Array.isArray(value) ? (value as Answer[]) : []);
