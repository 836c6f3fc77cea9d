import { buttonData } from '@angelia/chats';
import type { EventData, SessionId } from '@angelia/contracts';
import type { AnswerLinks } from '@angelia/service-kit';
import { isShownWhole, shownArguments } from '@angelia/session';
import type { ButtonLimits, MessageButton, OutputMessage } from '../targets/target.ts';
import { approvalText } from './approval-text.ts';

/** What a question says about how to answer it. */
export interface Answering {
  /** Null where no link may appear. */
  readonly links: Pick<AnswerLinks, 'url' | 'approvalUrl'> | null;
  /** For the operator, who reads the questions in the log. */
  readonly note?: string | null;
  /** Replies come back from there, and clicks if it has buttons. Left out: the config has no chat of this platform. */
  readonly chat?: AnsweringChat;
}

interface AnsweringChat {
  readonly platform: string;
  /** Null: the platform has no buttons. */
  readonly buttons: ButtonLimits | null;
}

/** Which output of which session the message is. */
interface OutputName {
  readonly sessionId: SessionId;
  readonly output: number;
}

type Content = Pick<OutputMessage, 'type' | 'text' | 'buttons'>;

/** @param closing replaces how to answer it, and the buttons: the question is closed */
export function questionContent(
  { question, choices }: EventData<'clarification.requested'>,
  name: OutputName,
  answering: Answering,
  closing?: string,
): Content {
  const limits = closing === undefined ? (answering.chat?.buttons ?? null) : null;
  const buttons = limits === null ? [] : choiceButtons(choices, name, limits);
  const how = closing ?? howToAnswer(name, answering, buttons.length, choices.length);
  return {
    type: 'clarification',
    text: [question, numbered(choices), how].filter((part) => part !== '').join('\n\n'),
    ...(buttons.length > 0 ? { buttons } : {}),
  };
}

/** @param closing as for a question */
export function approvalContent(
  request: EventData<'approval.requested'>,
  name: OutputName,
  answering: Answering,
  closing?: string,
): Content {
  if (closing !== undefined) return { type: 'approval', text: approvalText(request, { closing }) };
  const limits = answering.chat?.buttons ?? null;
  const buttons =
    limits !== null && mayApproveIn(answering.chat, request) ? approvalButtons(name, limits) : [];
  return {
    type: 'approval',
    text: approvalText(request, {
      howToDecide: howToDecide(name, answering, request, buttons.length > 0),
      forSession: buttons.length > 0,
    }),
    ...(buttons.length > 0 ? { buttons } : {}),
  };
}

/** All of them stay in the text: a label may be cut, and the text still shows the choices when the buttons are gone. */
function numbered(choices: readonly string[]): string {
  return choices.map((choice, index) => `${index + 1}. ${choice}`).join('\n');
}

function choiceButtons(
  choices: readonly string[],
  name: OutputName,
  { most, labelLength }: ButtonLimits,
): MessageButton[] {
  return choices.slice(0, most).map((choice, index) => ({
    label: label(choice, labelLength) || `${index + 1}`,
    data: buttonData({ ...name, action: `choice-${index}` }),
  }));
}

function approvalButtons(name: OutputName, { labelLength }: ButtonLimits): MessageButton[] {
  const button = (action: string, text: string, style?: MessageButton['style']): MessageButton => ({
    label: label(text, labelLength),
    data: buttonData({ ...name, action }),
    ...(style === undefined ? {} : { style }),
  });
  return [
    button('approve', 'Approve', 'primary'),
    button('approve-session', 'Approve for this session'),
    button('deny', 'Deny', 'danger'),
  ];
}

/** One line. The cut may split a surrogate pair, and half of one cannot be sent. */
function label(text: string, most: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= most ? line : `${line.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

function howToAnswer(
  { sessionId, output }: OutputName,
  { links, note, chat }: Answering,
  buttons: number,
  choices: number,
): string {
  if (buttons > 0) {
    const left = buttons < choices ? 'the number of a choice or with ' : '';
    return `Choose below, or reply to this message with ${left}an answer of your own.`;
  }
  // Without choices there is nothing to click, and a reply is easier than a link.
  if (chat !== undefined && (choices === 0 || links === null))
    return chat.platform === 'github_comment'
      ? 'Answer with a comment that mentions me.'
      : 'Reply to this message with your answer.';
  if (links !== null) {
    const link = links.url({ sessionId, output });
    if (chat === undefined) return `Answer here: ${link}`;
    // GitHub has no replies to a comment, and not every comment below it is for us.
    return chat.platform === 'github_comment'
      ? `Answer with a comment that mentions me, or here: ${link}`
      : `Reply to this message, or answer here: ${link}`;
  }
  return withNote(`Answer with POST /v1/sessions/${sessionId}/messages`, note);
}

function howToDecide(
  { sessionId, output }: OutputName,
  { links, note, chat }: Answering,
  request: EventData<'approval.requested'>,
  hasButtons: boolean,
): string {
  if (hasButtons) return 'Decide below. To say why you deny it, reply with `/deny` and the reason.';
  const { approval_id, approvers } = request;
  const reply = mayApproveIn(chat, request) ? 'Reply with `/approve` or `/deny`' : null;
  const byLink = approvers.length === 0 || approvers.includes('link');
  if (links !== null && byLink) {
    const link = links.approvalUrl({ sessionId, output });
    return reply === null ? `Approve or deny here: ${link}` : `${reply}, or decide here: ${link}`;
  }
  if (reply !== null) return `${reply}.`;
  const how = `Decide with \`angelia approve ${approval_id}\` or \`angelia deny ${approval_id}\``;
  return byLink ? withNote(how, note) : how;
}

/** Whether anybody in the chat may decide and reads the whole call. The person who clicks or replies is checked later. */
function mayApproveIn(
  chat: AnsweringChat | undefined,
  { approvers, tool, arguments: written }: EventData<'approval.requested'>,
): boolean {
  if (chat === undefined || !isShownWhole(shownArguments(tool, written))) return false;
  return approvers.length === 0 || approvers.some((approver) => approver.startsWith(`${chat.platform}:`));
}

function withNote(text: string, note: string | null | undefined): string {
  return note == null ? text : `${text}\n\n${note}`;
}
