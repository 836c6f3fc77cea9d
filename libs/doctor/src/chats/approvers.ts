import type { ChatConfig, Config } from '@angelia/contracts';
import type { ChatsSeen } from '@angelia/event-log/admin';
import { type Finding, warning } from '../finding.ts';

/** An approver who may not speak in any chat cannot decide there, and a request waits until it expires. */
export function approverFindings(config: Config, seen: ChatsSeen | null): Finding[] {
  return approverLists(config).flatMap(({ place, approvers }) =>
    approvers.flatMap((approver) => {
      const problem = problemOf(approver, config, seen);
      return problem === null
        ? []
        : [
            warning(
              'config.approvers',
              `${place}: nobody is \`${approver}\`, because ${problem.why}`,
              `${problem.todo}, or remove it. Meanwhile the other approvers and the admin token decide`,
            ),
          ];
    }),
  );
}

function approverLists(config: Config): { place: string; approvers: readonly string[] }[] {
  const { agents, routes, chats } = config;
  return Object.entries({ agents, routes, chats }).flatMap(([kind, entries]) =>
    Object.entries(entries).flatMap(([name, entry]) => {
      const { approvers } = ('tools' in entry ? entry.tools : undefined) ?? {};
      return approvers === undefined ? [] : [{ place: `${kind}.${name}.tools.approvers`, approvers }];
    }),
  );
}

function problemOf(
  approver: string,
  { chats }: Config,
  seen: ChatsSeen | null,
): { readonly why: string; readonly todo: string } | null {
  if (approver === 'link') return null;
  // An id may have colons (Matrix).
  const colon = approver.indexOf(':');
  const [platform, id] = [approver.slice(0, colon), approver.slice(colon + 1)];
  const [name, chat] =
    Object.entries(chats).find(([, one]) => one.platform === platform && one.enabled) ?? [];
  if (name === undefined || chat === undefined) {
    const todo = 'add a chat of that platform to `chats`, or correct the name before the colon';
    return { why: `no enabled chat has the platform ${platform}`, todo };
  }
  if (platform === 'github_comment' && !/^\d+$/.test(id)) {
    return { why: 'people of GitHub are known by number', todo: 'write the id of the user, not the login' };
  }
  return maySpeak(id, name, chat, seen)
    ? null
    : { why: `chat ${name} does not let them speak`, todo: `add \`${id}\` to chats.${name}.speakers.users` };
}

/** True unless it is known that they may not: only the platform knows who belongs to a group or a repository. */
function maySpeak(id: string, name: string, chat: ChatConfig, seen: ChatsSeen | null): boolean {
  const { users, chats, anyone } = chat.speakers;
  if (seen === null || anyone || chats.length > 0 || users.includes(id)) return true;
  // On this platform, `users` may be logins, and everybody with a listed relation to the repository may speak.
  if (chat.platform === 'github_comment' && (users.length > 0 || chat.associations.length > 0)) return true;
  return (seen.paired.get(name) ?? []).some((one) => one.kind === 'chat' || one.id === id);
}
