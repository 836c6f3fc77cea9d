import { failureOf, openApproval, type SessionState, sessionStatus, waitingFor } from '@angelia/session';
import { commitAnswer } from '../answer.ts';
import type { TakeContext, Taken, TakingMessage } from '../take-context.ts';
import { sessionFor, sessionsHere } from './find-session.ts';

/** `/status [id]`. Ids are never cut short (seed 000): the one that is shown works with /resume. */
export async function status(context: TakeContext, taking: TakingMessage, rest: string): Promise<Taken> {
  const found = await sessionFor(context, taking, rest);
  if ('none' in found) {
    return commitAnswer(context, taking, { text: found.none, title: '/status', event: 'command' });
  }
  const { session } = found;
  return commitAnswer(context, taking, {
    text: statusText(session.id, session.state, await context.sessions.now()),
    title: '/status',
    event: 'command',
    about: session.id,
  });
}

export function statusText(id: string, state: SessionState, now: number): string {
  const { created, ended, usage } = state;
  const ms = (ended?.at ?? now) - (created?.at ?? now);
  const failure = failureOf(state);
  const waiting = state.turns.length - (state.run === null ? 0 : 1);
  return [
    `**${created?.title ?? ''}**`,
    `\`${id}\``,
    stateText(state),
    ...(waiting > 0 && state.run !== null ? [`Messages that wait: ${waiting}`] : []),
    ...(failure === null ? [] : [`Failed: ${failure.code}`]),
    `Runtime: ${durationText(ms)}`,
    `Tokens: ${usage.input_tokens} in, ${usage.output_tokens} out`,
    ...(state.model === null ? [] : [`Model: ${state.model}`]),
  ].join('\n\n');
}

function stateText(state: SessionState): string {
  if (state.ended !== null) return `State: ended, ${state.ended.outcome}. /resume continues it.`;
  const status = sessionStatus(state);
  switch (waitingFor(state)) {
    case 'person':
      return 'State: waiting for an answer to its question';
    case 'approval':
      return `State: waiting for a decision about \`${openApproval(state)?.tool ?? ''}\`: /approve or /deny`;
    case 'model':
      return 'State: waiting for its model';
    case 'process':
      return 'State: waiting for a background process';
    case null:
      return `State: ${status}`;
  }
}

/** `1 h 2 min`, `2 min 5 s`, `5 s` */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const [h, min, s] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60];
  if (h > 0) return `${h} h ${min} min`;
  return min > 0 ? `${min} min ${s} s` : `${s} s`;
}

/** More would not be read on a phone. */
const MOST_LISTED = 10;

export async function listSessions(context: TakeContext, taking: TakingMessage): Promise<Taken> {
  const listed = await sessionsHere(context, taking, MOST_LISTED);
  const lines = listed.map(({ sessionId, status, outcome, state }) => {
    const title = (state as SessionState).created?.title ?? '';
    return `**${title}**\n\`${sessionId}\` ${status}${outcome === null ? '' : `, ${outcome}`}`;
  });
  const text =
    lines.length === 0
      ? 'There is no session in this chat yet.'
      : [...lines, '/status or /resume with an id shows or continues one.'].join('\n\n');
  return commitAnswer(context, taking, { text, title: '/sessions', event: 'command' });
}
