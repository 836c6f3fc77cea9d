import { codeBlock } from '@angelia/chats';
import type { EventData } from '@angelia/contracts';
import { allowedCalls, LONGEST_SHOWN, type ShownArguments, shownArguments } from '@angelia/session';

/** What a person reads who is asked for an approval: the tool, its arguments, who may decide, how, and until when. */
export function approvalText(
  request: EventData<'approval.requested'>,
  about: { readonly howToDecide: string; readonly forSession: boolean } | { readonly closing: string },
): string {
  const { tool, approvers, expires_at: until } = request;
  const { command, others } = shownArguments(tool, request.arguments);
  const shown = [`**Approval needed** for \`${tool}\`:`, ...blocksOf({ command, others })];
  if ('closing' in about) return [...shown, about.closing].join('\n\n');
  return [
    ...shown,
    ...(approvers.some((approver) => approver !== 'link')
      ? [`May decide: ${approvers.map((approver) => `\`${approver}\``).join(', ')}.`]
      : []),
    // There is a button for it.
    ...(about.forSession
      ? [`For this session allows ${allowedCalls({ tool, match: request.rule.match })}.`]
      : []),
    `Without a decision by ${until.slice(0, 10)} ${until.slice(11, 16)} UTC it is denied.`,
    about.howToDecide,
  ].join('\n\n');
}

function blocksOf({ command, others }: ShownArguments): string[] {
  return [command, others].flatMap((text) => (text === null ? [] : [codeBlock(shortened(text))]));
}

function shortened(text: string): string {
  if (text.length <= LONGEST_SHOWN) return text;
  const rest = text.length - LONGEST_SHOWN;
  return `${text.slice(0, LONGEST_SHOWN).toWellFormed()}\n[${rest} more characters. Read all of it before you decide.]`;
}
