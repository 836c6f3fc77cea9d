import type { SessionId } from '@angelia/contracts';
import { decide as decideOn, openApproval } from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import { reasonOf } from '../../../api/approvals/approvals.controller.ts';
import { answerBeside, commitAnswer } from '../answer.ts';
import { whyNotDecided } from '../clicks.ts';
import { shownName } from '../input.ts';
import { addressedSession } from '../replies.ts';
import type { TakeContext, Taken, TakingMessage } from '../take-context.ts';
import { sessionFor, sessionsHere } from './find-session.ts';

export function approve(context: TakeContext, taking: TakingMessage): Promise<Taken> {
  return decideRequest(context, taking, 'approve', null);
}

export function deny(context: TakeContext, taking: TakingMessage, rest: string): Promise<Taken> {
  return decideRequest(context, taking, 'deny', reasonOf(rest));
}

async function decideRequest(
  context: TakeContext,
  taking: TakingMessage,
  decision: 'approve' | 'deny',
  reason: string | null,
): Promise<Taken> {
  const title = `/${decision}`;
  const session = await sessionThatAsks(context, taking, decision);
  if (typeof session === 'string') {
    return commitAnswer(context, taking, { text: session, title, event: 'command' });
  }
  const { chat, update, options } = taking;
  const asked = openApproval(session.state);
  const approvalId = asked?.id ?? '';
  const now = await context.sessions.now();
  const done = `${decision === 'approve' ? 'Approved' : 'Denied'}: \`${asked?.tool ?? ''}\``;
  const answer = { text: done, title, event: 'command', about: session.id } as const;
  const executed = await context.sessions.execute(
    session.id,
    ({ state }) =>
      decideOn(state, {
        type: 'decide-approval',
        approvalId,
        decision,
        scope: 'once',
        actor: `${chat.platform.name}:${update.from.id}`,
        way: 'chat',
        reason,
        person: shownName(update.from),
        digest: asked?.digest ?? null,
        now,
      }),
    { ...options, loaded: session, beside: [answerBeside(context, taking, answer)] },
  );
  if (executed.status === 'appended') return { outcome: 'decision', sessionId: session.id };
  if (executed.status === 'duplicate') return { outcome: 'known' };
  const text = executed.status === 'refused' ? whyNotDecided(executed, approvalId) : done;
  const told = await commitAnswer(context, taking, { ...answer, text });
  return told.outcome === 'known' ? told : { ...told, outcome: 'refused' };
}

/** Text: why there is none. */
async function sessionThatAsks(
  context: TakeContext,
  taking: TakingMessage,
  decision: 'approve' | 'deny',
): Promise<Loaded | string> {
  if (decision === 'approve') return sessionOfTheRequest(context, taking);
  const found = await sessionFor(context, taking, '');
  if ('session' in found && openApproval(found.session.state) !== null) return found.session;
  if (taking.update.replyTo !== null && 'session' in found) return 'Nothing waits for a decision there.';
  const asking = await sessionsHere(context, taking, 2, 'approval');
  if (asking.length === 0) return 'Nothing in this chat waits for a decision.';
  if (asking.length > 1) return 'More than one request waits here. Reply to the one that you mean.';
  const session = await context.sessions.load(asking[0]?.sessionId as SessionId);
  return openApproval(session.state) === null ? 'Nothing in this chat waits for a decision.' : session;
}

/**
 * An approval has to reply to its request, or stand in the thread of its session: elsewhere, another request may have taken
 * the place of the one that the person read (invariant approved-is-what-runs). To deny too much does no harm.
 */
async function sessionOfTheRequest(context: TakeContext, taking: TakingMessage): Promise<Loaded | string> {
  const session = await addressedSession(context, taking.chat, taking.update);
  if (session === null) return 'Which one? Reply to the request with /approve, or use its buttons.';
  return openApproval(session.state) === null ? 'Nothing waits for a decision there.' : session;
}
