import { TokenGuesses } from '../../access/token-guesses.ts';
import { looksLikeCode, pairingCodeHash } from '../pairing/pairing-code.ts';
import { type Pairing, type PairingsOfChat, pairingAppend } from '../pairing/pairings.ts';
import type { ChatMessage } from '../platform.ts';
import { commitAnswer } from './answer.ts';
import { ignored, type TakeContext, type Taken, type TakingMessage } from './take-context.ts';

/** `/pair CODE`, or `/start CODE` as a link to a Telegram bot sends it. Anybody may try. */
export function mayPair({ command, forwarded }: ChatMessage): boolean {
  if (command === null || forwarded) return false;
  return command.name === 'pair' || (command.name === 'start' && looksLikeCode(command.rest));
}

/**
 * Wrong codes of a person are slowed down to one a second after the first ten, and so is what wrong codes of everybody together
 * cost. A crowd that guesses cannot lock anybody out: the right code is found in memory, at the latest two seconds after it was
 * made.
 */
const guesses = new TokenGuesses();

const TEN_MINUTES_SECONDS = 600;

/**
 * At most once in ten minutes, so that nobody fills the log with wrong codes. A repeat of an update whose code was right does
 * not get this reply.
 */
async function tellWrongCode(context: TakeContext, taking: TakingMessage): Promise<Taken> {
  const { update, chat, options } = taking;
  if ((await context.log.streams.findByKey(options.key.key)) !== null) return { outcome: 'known' };
  const key = {
    key: `chat-wrong-code:${chat.platform.name}:${update.place.chat}:${update.from.id}`,
    keepSeconds: TEN_MINUTES_SECONDS,
  };
  const told = await commitAnswer(
    context,
    { ...taking, options: { ...options, key } },
    {
      text: 'This pairing code is wrong, used up or older than ten minutes. Ask for a new one: `angelia chat pair`.',
      title: 'Wrong pairing code',
      event: 'pairing',
    },
  );
  return told.outcome === 'known' ? ignored('a wrong pairing code') : { ...told, outcome: 'refused' };
}

/**
 * A code lets in the person who sends it in a conversation of two, or everybody in the group where it is sent, unless
 * everybody in the world may write there. It is used up
 * in the same append as the answer, at the version of the pairings that was read: two people with one code are not both let in.
 */
export async function takePairing(context: TakeContext, taking: TakingMessage): Promise<Taken> {
  const { chat, update, options } = taking;
  const code = update.command?.rest ?? '';
  if (!looksLikeCode(code)) return ignored('no pairing code');
  const [recent, now] = await Promise.all([context.pairings.recent(chat.name), context.sessions.now()]);
  const client = JSON.stringify([chat.name, update.from.id]);
  const nowMs = performance.now();
  const verdict = guesses.judge(client, () => offerOf(recent, code, now) !== undefined, nowMs);
  if (verdict === 'unchecked' || verdict === 'slowed') return ignored('too many wrong codes');
  const isWrong = () => false;
  if (verdict === 'wrong' && guesses.judge(JSON.stringify([chat.name]), isWrong, nowMs) === 'unchecked') {
    return ignored('too many wrong codes');
  }
  const read = await context.pairings.read(chat.name);
  const right = offerOf(read, code, now);
  if (right === undefined) return tellWrongCode(context, taking);
  const kind = update.direct || chat.platform.openToAll ? 'user' : 'chat';
  const id = kind === 'user' ? update.from.id : update.place.chat;
  const accepted = pairingAppend(
    chat.name,
    read.version,
    'pairing.accepted',
    { pairing_id: right.id, kind, id },
    options.actor,
  );
  const who = kind === 'user' ? 'You are' : 'Everybody in this group is';
  const taken = await commitAnswer(
    context,
    taking,
    {
      text: `${who} paired as ${right.name}. /help lists what you can do here.`,
      title: 'Paired',
      event: 'pairing',
    },
    [accepted],
  );
  await context.pairings.read(chat.name);
  return taken;
}

function offerOf({ pairings }: PairingsOfChat, code: string, now: number): Pairing | undefined {
  const wanted = pairingCodeHash(code);
  return [...pairings.values()].find(
    ({ codeSha256, accepted, expiresAt }) => codeSha256 === wanted && accepted === null && expiresAt > now,
  );
}
