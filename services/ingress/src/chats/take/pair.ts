import { TokenGuesses } from '../../access/token-guesses.ts';
import { looksLikeCode, pairingCodeHash } from '../pairing/pairing-code.ts';
import { pairingAppend } from '../pairing/pairings.ts';
import type { ChatMessage } from '../platform.ts';
import { commitAnswer } from './answer.ts';
import { ignored, type TakeContext, type Taken, type TakingMessage } from './take-context.ts';

/** `/pair CODE`, or `/start CODE` as a link to a Telegram bot sends it. Anybody may try. */
export function mayPair({ command, forwarded }: ChatMessage): boolean {
  if (command === null || forwarded) return false;
  return command.name === 'pair' || (command.name === 'start' && looksLikeCode(command.rest));
}

/** Wrong codes of a person, and of everybody together, are slowed down to one a second after the first ten. */
const guesses = new TokenGuesses();

const TEN_MINUTES_SECONDS = 600;

/** Once in ten minutes, so that nobody fills the log with wrong codes. A repeat of the update that was right is not told it. */
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
 * A code lets in the person who sends it in a conversation of two, or everybody in the group where it is sent. It is used up
 * in the same append as the answer, at the version of the pairings that was read: two people with one code are not both let in.
 */
export async function takePairing(context: TakeContext, taking: TakingMessage): Promise<Taken> {
  const { chat, update, options } = taking;
  const code = update.command?.rest ?? '';
  if (!looksLikeCode(code)) return ignored('no pairing code');
  const [{ pairings, version }, now] = await Promise.all([
    context.pairings.read(chat.name),
    context.sessions.now(),
  ]);
  const wanted = pairingCodeHash(code);
  const right = [...pairings.values()].find(
    ({ codeSha256, accepted, expiresAt }) => codeSha256 === wanted && accepted === null && expiresAt > now,
  );
  const client = JSON.stringify([chat.name, update.from.id]);
  const everybody = JSON.stringify([chat.name]);
  const isRight = () => right !== undefined;
  const nowMs = performance.now();
  const verdict = guesses.judge(client, () => guesses.judge(everybody, isRight, nowMs) === 'right', nowMs);
  if (verdict === 'unchecked' || verdict === 'slowed') return ignored('too many wrong codes');
  if (verdict === 'wrong' || right === undefined) {
    return tellWrongCode(context, taking);
  }
  const kind = update.direct ? 'user' : 'chat';
  const id = update.direct ? update.from.id : update.place.chat;
  const accepted = pairingAppend(
    chat.name,
    version,
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
