import { type ButtonPress, messageKey, readButtonData } from '@angelia/chats';
import type { EventData } from '@angelia/contracts';
import { allowedCalls, type Decision, decide } from '@angelia/session';
import type { Executed, Loaded } from '@angelia/sessions';
import { approvalIn, refusals, sentenceFor } from '../../answers/approval.ts';
import { questionIn, whyClosed } from '../../answers/question.ts';
import { shownName } from './input.ts';
import { sessionUnder } from './replies.ts';
import { ignored, type TakeContext, type Taken, type TakingClick } from './take-context.ts';

/** How long the platform may take to show the result of a click. The decision is already in the log. */
const ACKNOWLEDGE_MS = 5_000;

/**
 * A click on a button of ours answers a question or decides about a request, on the folded stream: the first one wins, and
 * the second is told who was first (invariant approved-is-what-runs). The message itself is edited by delivery.
 */
export async function takeClick(context: TakeContext, taking: TakingClick): Promise<Taken> {
  const press = readButtonData(taking.update.data);
  if (press === null) return ignored('not a button of ours');
  const loaded = await context.sessions.load(press.sessionId);
  const told = (await isHere(context, taking, loaded))
    ? await pressed(context, taking, press, loaded)
    : { text: 'There is no such session in this chat.', taken: ignored('a button of another chat') };
  void acknowledge(context, taking, told.text);
  return { ...told.taken, told: told.text };
}

interface Told {
  readonly text: string;
  readonly taken: Taken;
}

/** The data of a button is not signed. A person who copies it into another chat must not be able to decide there. */
async function isHere(
  context: TakeContext,
  { chat, update }: TakingClick,
  { id, state }: Loaded,
): Promise<boolean> {
  const deliver = state.created?.deliver;
  const { name, chatOf } = chat.platform;
  if (deliver?.target === name && chatOf(deliver.to) === update.place.chat) return true;
  // The address has a name of the chat (`#general`), or it is another target's. Then the receipt of the message tells.
  return (await sessionUnder(context, messageKey(update.place, update.message))) === id;
}

function pressed(
  context: TakeContext,
  taking: TakingClick,
  press: ButtonPress,
  loaded: Loaded,
): Promise<Told> {
  const choice = /^choice-(\d+)$/.exec(press.action)?.[1];
  return choice === undefined
    ? decideApproval(context, taking, press, loaded)
    : answerQuestion(context, taking, press, loaded, Number(choice));
}

async function answerQuestion(
  context: TakeContext,
  taking: TakingClick,
  { sessionId, output }: ButtonPress,
  loaded: Loaded,
  choice: number,
): Promise<Told> {
  const question = questionIn(loaded, { sessionId, output });
  const answer = question?.choices[choice];
  if (question === null || answer === undefined) {
    return { text: 'This button belongs to no question.', taken: ignored('a button of no question') };
  }
  const executed = await execute(context, taking, loaded, ({ state }) =>
    decide(state, {
      type: 'answer-clarification',
      clarificationId: question.clarificationId,
      answer,
      by: 'chat',
      person: shownName(taking.update.from),
    }),
  );
  if (executed.status === 'appended') {
    return { text: `You chose: ${answer}`, taken: { outcome: 'answer', sessionId } };
  }
  if (executed.status === 'duplicate') return { text: `You chose: ${answer}`, taken: { outcome: 'known' } };
  const now = executed.status === 'refused' ? executed.loaded : loaded;
  return { text: whyNotAnswered(now, sessionId, output), taken: { outcome: 'refused', sessionId } };
}

function whyNotAnswered(now: Loaded, sessionId: ButtonPress['sessionId'], output: number): string {
  const question = questionIn(now, { sessionId, output });
  const answered = now.events.find(
    ({ type, data }) =>
      type === 'clarification.answered' &&
      (data as EventData<'clarification.answered'>).clarification_id === question?.clarificationId,
  );
  if (answered !== undefined) {
    const { answer, person } = answered.data as EventData<'clarification.answered'>;
    return `Already answered by ${person ?? answered.meta.actor}: ${answer}`;
  }
  const status = question?.status ?? 'closed';
  return whyClosed[status === 'open' ? 'closed' : status];
}

async function decideApproval(
  context: TakeContext,
  taking: TakingClick,
  { sessionId, output, action }: ButtonPress,
  loaded: Loaded,
): Promise<Told> {
  const approval = approvalIn(loaded, (_, version) => version === output);
  if (approval === null) {
    return { text: 'This button belongs to no request.', taken: ignored('a button of no request') };
  }
  const { chat, update } = taking;
  const now = await context.sessions.now();
  const executed = await execute(context, taking, loaded, ({ state }) =>
    decide(state, {
      type: 'decide-approval',
      approvalId: approval.request.approval_id,
      decision: action === 'deny' ? 'deny' : 'approve',
      scope: action === 'approve-session' ? 'session' : 'once',
      actor: `${chat.platform.name}:${update.from.id}`,
      way: 'chat',
      reason: null,
      person: shownName(update.from),
      // The message shows the arguments of this request, and it has the request's own id.
      digest: approval.request.digest,
      now,
    }),
  );
  const { tool, rule } = approval.request;
  const forSession = `Approved for this session: ${allowedCalls({ tool, match: rule.match })}.`;
  const said = action === 'deny' ? 'Denied.' : action === 'approve' ? 'Approved.' : forSession;
  if (executed.status === 'appended') return { text: said, taken: { outcome: 'decision', sessionId } };
  if (executed.status === 'duplicate') return { text: said, taken: { outcome: 'known' } };
  return {
    text: executed.status === 'refused' ? whyNotDecided(executed, approval.request.approval_id) : said,
    taken: { outcome: 'refused', sessionId },
  };
}

/** Why a decision was not taken, for the person who made it. */
export function whyNotDecided(
  { code, loaded }: Extract<Executed, { status: 'refused' }>,
  approvalId: string,
): string {
  const refusal = refusals[code];
  if (refusal !== undefined) return refusal.message;
  const approval = approvalIn(loaded, ({ approval_id }) => approval_id === approvalId);
  const status = approval?.status ?? 'ended';
  // The time is over, but no runner has recorded that yet.
  return sentenceFor(status === 'open' ? 'expired' : status, approval?.decided ?? null);
}

async function execute(
  { sessions, log }: TakeContext,
  { options }: TakingClick,
  loaded: Loaded,
  decideOn: (loaded: Loaded) => Decision,
): Promise<Executed> {
  const executed = await sessions.execute(loaded.id, decideOn, { ...options, loaded });
  if (executed.status !== 'refused') return executed;
  // A repeat of the click that won finds its own decision. The person is told the same again.
  const streamId = await log.streams.findByKey(options.key.key);
  return streamId === null ? executed : { status: 'duplicate', streamId };
}

async function acknowledge(
  { logger }: TakeContext,
  { chat, update }: TakingClick,
  text: string,
): Promise<void> {
  const { platform, settings } = chat;
  await platform
    .acknowledge?.(update, text, { settings, signal: AbortSignal.timeout(ACKNOWLEDGE_MS) })
    .catch((error: unknown) => logger.warn({ chat: chat.name, err: error }, 'a click was not acknowledged'));
}
