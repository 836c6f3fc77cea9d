import type { ChatConfig, Config } from '@angelia/contracts';
import { type ChatsSeen, readChats } from '@angelia/event-log/admin';
import { type Finding, fault, ok, reasonOf, skipped, warning } from '../finding.ts';
import { approverFindings } from './approvers.ts';
import { askPlatform } from './platforms.ts';

export interface ChatsOptions {
  readonly databaseUrl: string | undefined;
  /** Whether the platforms are asked. */
  readonly calls: boolean;
  readonly timeoutMs: number;
  readonly now: () => number;
}

/** Who may speak and approve, whether each chat is connected, and what its platform says about it. */
export async function chatsFindings(config: Config, options: ChatsOptions): Promise<Finding[]> {
  const chats = Object.entries(config.chats);
  if (chats.length === 0) return approverFindings(config, null);
  const { seen, why } = await seenChats(Object.keys(config.chats), options);
  const findings = await Promise.all(
    chats.map(async ([name, chat]): Promise<Finding[]> => {
      const check = `chat.${name}`;
      if (!chat.enabled) return [ok(check, 'is disabled')];
      return [
        ...speakerFindings(check, name, chat, seen),
        ...connectionFindings(check, name, chat, seen),
        ...(options.calls ? await askPlatform(check, config, name, options) : []),
      ];
    }),
  );
  return [
    ...(seen === null ? [skipped('chats', `connections and pairings could not be read: ${why}`)] : []),
    ...findings.flat(),
    ...approverFindings(config, seen),
  ];
}

/** The checks of Postgres say what is wrong with it. */
async function seenChats(
  chats: readonly string[],
  { databaseUrl, timeoutMs }: ChatsOptions,
): Promise<{ readonly seen: ChatsSeen | null; readonly why: string }> {
  if (databaseUrl === undefined) return { seen: null, why: 'DATABASE_URL is not set' };
  try {
    return { seen: await readChats({ url: databaseUrl, chats, timeoutMs }), why: '' };
  } catch (error) {
    return { seen: null, why: reasonOf(error) };
  }
}

function speakerFindings(check: string, name: string, chat: ChatConfig, seen: ChatsSeen | null): Finding[] {
  const { users, chats, anyone } = chat.speakers;
  const associations = chat.platform === 'github_comment' ? chat.associations.length : 0;
  const listed = users.length + chats.length + associations;
  const paired = seen?.paired.get(name)?.length ?? 0;
  // If the log cannot be read, somebody may be paired.
  if (anyone || listed + paired > 0 || seen === null) return [];
  return [
    warning(
      `${check}.speakers`,
      `nobody may speak: chats.${name}.speakers is empty, and nobody is paired`,
      `run \`angelia chat pair ${name} --name <name>\`, or add ids to chats.${name}.speakers`,
    ),
  ];
}

function connectionFindings(
  check: string,
  name: string,
  chat: ChatConfig,
  seen: ChatsSeen | null,
): Finding[] {
  if (chat.receive !== 'connection' || seen === null) return [];
  const led = seen.connections.get(name);
  if (led === undefined) {
    return [
      fault(
        `${check}.connection`,
        'no replica of ingress has the connection',
        'start ingress; if it has just started, run doctor again in a moment',
      ),
    ];
  }
  const replica = led.holder.replace(/#[^#]*$/, '');
  if (led.note === null) return [skipped(`${check}.connection`, `${replica} is connecting`)];
  const { connected, error } = led.note;
  if (connected || error === null) return [ok(`${check}.connection`, `${replica} is connected`)];
  return [
    fault(
      `${check}.connection`,
      `${replica} has no connection: ${error}`,
      'correct that. Ingress tries again by itself within an hour; `angelia restart ingress` tries at once',
    ),
  ];
}
