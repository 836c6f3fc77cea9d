import { codeBlock } from '@angelia/chats';
import type { SessionId } from '@angelia/contracts';
import {
  decide as decideOn,
  isShownWhole,
  openApproval,
  type ShownArguments,
  shownArguments,
} from '@angelia/session';
import type { Loaded } from '@angelia/sessions';
import { approvalIn, sentenceFor } from '../../../answers/approval.ts';
import { reasonOf } from '../../../api/approvals/approvals.controller.ts';
import { answerBeside, commitAnswer } from '../answer.ts';
import { whyNotDecided } from '../clicks.ts';
import { shownName } from '../input.ts';
import { addressedSession, requestRepliedTo } from '../replies.ts';
import type { TakeContext, Taken, TakingMessage } from '../take-context.ts';
import { sessionFor, sessionsHere } from './find-session.ts';

export function approve(context: TakeContext, taking: TakingMessage, rest: string): Promise<Taken> {
  return decideRequest(context, taking, 'approve', rest);
}

export function deny(context: TakeContext, taking: TakingMessage, rest: string): Promise<Taken> {
  return decideRequest(context, taking, 'deny', rest);
}

async function decideRequest(
  context: TakeContext,
  taking: TakingMessage,
  decision: 'approve' | 'deny',
  rest: string,
): Promise<Taken> {
  const title = `/${decision}`;
  const reason = decision === 'deny' ? reasonOf(rest) : null;
  const session =
    decision === 'approve'
      ? await sessionToApprove(context, taking, rest)
      : await sessionToDeny(context, taking);
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

/** Text: why there is no request. A denial does no harm, so it need not reply to the request. */
async function sessionToDeny(context: TakeContext, taking: TakingMessage): Promise<Loaded | string> {
  const found = await sessionFor(context, taking, '');
  if ('session' in found && openApproval(found.session.state) !== null) return found.session;
  if (taking.update.replyTo !== null && 'session' in found) return NOTHING_WAITS;
  const asking = await sessionsHere(context, taking, 2, 'approval');
  if (asking.length === 0) return 'Nothing in this chat waits for a decision.';
  if (asking.length > 1) return 'More than one request waits here. Reply to the one that you mean.';
  const session = await context.sessions.load(asking[0]?.sessionId as SessionId);
  return openApproval(session.state) === null ? 'Nothing in this chat waits for a decision.' : session;
}

const NOTHING_WAITS = 'Nothing waits for a decision there.';

/**
 * A person who approves has read one request, and another one may have taken its place by now (invariant
 * approved-is-what-runs). So an approval must reply to its request. On platforms that have only threads, the first request of a
 * session is unambiguous, and a later one is approved by its number.
 */
async function sessionToApprove(
  context: TakeContext,
  taking: TakingMessage,
  number: string,
): Promise<Loaded | string> {
  const { chat, update } = taking;
  const session = await addressedSession(context, chat, update);
  if (session === null) return 'Which one? Reply to the request with /approve, or use its buttons.';
  const open = openApproval(session.state);
  const read = await requestRepliedTo(context, update);
  if (read !== null && read !== open?.output) {
    const approval = approvalIn(session, (_, version) => version === read);
    return approval === null || approval.status === 'open'
      ? NOTHING_WAITS
      : sentenceFor(approval.status, approval.decided);
  }
  const asked = approvalIn(session, ({ approval_id }) => approval_id === open?.id);
  if (open === null || asked === null) return NOTHING_WAITS;
  const shown = shownArguments(asked.request.tool, asked.request.arguments);
  if (!isShownWhole(shown)) return notShownWhole(open.id);
  const ofSession = session.state.approvals ?? 1;
  if (number === '' ? read !== null || ofSession === 1 : number === `${ofSession}`) return session;
  return whichOne(open.tool, shown, ofSession);
}

/** Shows the open request with its number, so that the person approves what they have read. */
function whichOne(tool: string, { command, others }: ShownArguments, ofSession: number): string {
  const shown = [command, others].filter((text) => text !== null).join('\n');
  return [
    `This request for \`${tool}\` waits:`,
    codeBlock(shown),
    `\`/approve ${ofSession}\` approves it.`,
  ].join('\n\n');
}

function notShownWhole(id: string): string {
  return `Not approved: the message shows only a part of this call. Read all of it before you decide: by the link of the request if it has one, in the console, or with \`angelia approvals --json\` and \`angelia approve ${id}\`.`;
}
