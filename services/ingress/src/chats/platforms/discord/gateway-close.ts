/** What the close of a gateway connection means (https://docs.discord.com/developers/topics/opcodes-and-status-codes). */
export type CloseMeaning =
  | { readonly kind: 'resume' }
  | { readonly kind: 'start-anew' }
  /** Every further try would end the same. */
  | { readonly kind: 'final'; readonly reason: string };

const FINAL: Readonly<Record<number, string>> = {
  4004: 'Discord refuses the token. Set targets.discord.bot_token to the token of the bot (discord.com/developers, Bot).',
  4010: 'Discord refuses the shard.',
  4011: 'Discord wants this bot to be sharded: it is on too many servers for one connection.',
  4012: 'Discord no longer supports this version of the gateway. Update Angelia.',
  4013: 'Discord does not know one of the intents. Update Angelia.',
  4014: 'Discord does not allow the intents. Switch on "Message Content Intent" at discord.com/developers, Bot.',
};

/** 1000 and 1001 end the session; 4007: the sequence was wrong; 4009: the session timed out. */
const SESSION_IS_GONE: ReadonlySet<number> = new Set([1000, 1001, 4007, 4009]);

export function meaningOfClose(code: number): CloseMeaning {
  const reason = FINAL[code];
  if (reason !== undefined) return { kind: 'final', reason: `${reason} (close code ${code})` };
  return { kind: SESSION_IS_GONE.has(code) ? 'start-anew' : 'resume' };
}
