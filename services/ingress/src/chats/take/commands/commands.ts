import type { ChatMessage } from '../../platform.ts';
import { commitAnswer } from '../answer.ts';
import { shownName } from '../input.ts';
import { ignored, type TakeContext, type Taken, type TakingMessage } from '../take-context.ts';
import { approve, deny } from './decide.ts';
import { startNew } from './new.ts';
import { resume, retry, stop } from './runs.ts';
import { listSessions, status } from './status.ts';

export type Command = (context: TakeContext, taking: TakingMessage, rest: string) => Promise<Taken>;

/** The commands of every chat, as people find them in the platform's menu. */
export const commands: Readonly<Record<string, { readonly does: string; readonly run: Command }>> = {
  status: { does: 'What the session is doing, with its id', run: status },
  stop: { does: 'End the session', run: stop },
  resume: { does: 'Continue an ended session: /resume [id]', run: resume },
  new: { does: 'Start a new conversation: /new [title]', run: startNew },
  sessions: { does: 'The last sessions of this chat', run: listSessions },
  retry: { does: 'Ask the last question again', run: retry },
  approve: { does: 'Approve what the session asks for', run: approve },
  deny: { does: 'Deny it: /deny [reason]', run: deny },
  help: { does: 'What you can do here', run: (context, taking) => help(context, taking) },
};

/** For the menus of the platforms. */
export function commandMenu(): readonly { readonly name: string; readonly description: string }[] {
  return Object.entries(commands).map(([name, { does }]) => ({ name, description: does }));
}

/** What a platform calls them without us: Telegram sends `/start` when somebody opens the bot. */
const ALIASES: Readonly<Record<string, string>> = { start: 'help' };

export function isCommand({ command }: ChatMessage): boolean {
  return command !== null;
}

export function takeCommand(context: TakeContext, taking: TakingMessage): Promise<Taken> {
  const { name, rest } = taking.update.command ?? { name: '', rest: '' };
  const known = ALIASES[name] ?? name;
  const command = Object.hasOwn(commands, known) ? commands[known] : undefined;
  if (command !== undefined) return command.run(context, taking, rest);
  // In a group it may be for another bot.
  if (!taking.update.direct && !taking.update.mentioned)
    return Promise.resolve(ignored('an unknown command'));
  return commitAnswer(context, taking, {
    text: `I do not know /${name}. /help lists the commands.`,
    title: 'Unknown command',
    event: 'command',
  });
}

function help(context: TakeContext, taking: TakingMessage): Promise<Taken> {
  const { chat, update } = taking;
  const list = Object.entries(commands).map(([name, { does }]) => `/${name} – ${does}`);
  const how = chat.conversations
    ? 'Write to me, and I will work on it. A reply to one of my messages continues its session.'
    : 'A reply to one of my messages continues its session.';
  return commitAnswer(context, taking, {
    text: [`Hello ${shownName(update.from)}. ${how}`, ...list].join('\n\n'),
    title: '/help',
    event: 'command',
  });
}
