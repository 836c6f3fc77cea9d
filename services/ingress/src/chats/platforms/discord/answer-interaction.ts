import type { PlatformCall } from '../../platform.ts';
import { CallRefused } from '../call-json.ts';
import { callDiscord } from './discord-call.ts';
import { DEFERRED, type Interaction, quietAnswer } from './discord-interaction.ts';

/** Discord drops the answer to an interaction after 3 s. */
const INTERACTION_MS = 3_000;
/** Half of that is for the call. */
const DEFER_AFTER_MS = INTERACTION_MS / 2;
const ALREADY_ACKNOWLEDGED = 40_060;

/** @throws Error, after 3 s at the latest for each of two calls */
export async function answerInteraction(
  interaction: Interaction,
  text: string,
  context: PlatformCall,
): Promise<void> {
  const answer = quietAnswer(text);
  try {
    await callBack(interaction, answer, context);
  } catch (error) {
    if (!(error instanceof CallRefused) || error.answer.code !== ALREADY_ACKNOWLEDGED) throw error;
    const { application, token } = interaction;
    const path = `/webhooks/${encodeURIComponent(application)}/${encodeURIComponent(token)}/messages/@original`;
    await callDiscord('PATCH', path, context, answer.data ?? {}, { timeoutMs: INTERACTION_MS });
  }
}

/**
 * The append of a click may be slow. Before Discord shows a failure, this shows the person that it is being worked on. The
 * answer replaces that note, for up to 15 minutes. Returns a function that stops this.
 */
export function deferIfSlow(interactions: readonly Interaction[], context: PlatformCall): () => void {
  if (interactions.length === 0) return () => {};
  const timer = setTimeout(() => {
    // Best effort: it may have been answered just now.
    for (const one of interactions) void callBack(one, DEFERRED, context).catch(() => {});
  }, DEFER_AFTER_MS);
  return () => clearTimeout(timer);
}

async function callBack({ id, token }: Interaction, answer: unknown, context: PlatformCall): Promise<void> {
  const path = `/interactions/${encodeURIComponent(id)}/${encodeURIComponent(token)}/callback`;
  await callDiscord('POST', path, context, answer, { timeoutMs: INTERACTION_MS });
}
