import type { ChatConfig, Config, ConfigProblem } from '@angelia/contracts';
import { isLoopback } from '../loopback.ts';
import { agentNamed, toolsetsOf } from './agents.ts';
import { unknownName } from './unknown-name.ts';

/** What a chat says about agents and targets, and which of its keys need each other. */
export function chatProblems(config: Config): ConfigProblem[] {
  return Object.entries(config.chats).flatMap(([name, chat]) => [
    ...targetProblems(config, name, chat),
    ...agentProblems(config, name, chat),
    ...receiveProblems(name, chat),
    ...fileProblems(name, chat),
  ]);
}

function targetProblems(config: Config, name: string, { platform }: ChatConfig): ConfigProblem[] {
  const place = `chats.${name}.platform`;
  const first = Object.entries(config.chats).find(([, chat]) => chat.platform === platform)?.[0];
  if (first !== name) {
    const reason = `chat \`${first}\` already uses this platform. There is one bot per platform, that of \`targets.${platform}\`. Remove one of the two chats.`;
    return [{ place, reason }];
  }
  if (Object.hasOwn(config.targets, platform)) return [];
  return [
    {
      place,
      reason: `target \`${platform}\` is not configured. A chat answers with its credentials: set \`targets.${platform}\`.`,
    },
  ];
}

function agentProblems(config: Config, name: string, chat: ChatConfig): ConfigProblem[] {
  if (!chat.conversations) return [];
  const agent = agentNamed(config, chat.agent);
  if (agent === undefined) {
    const reason = unknownName('agent', chat.agent, Object.keys(config.agents));
    return [{ place: `chats.${name}.agent`, reason }];
  }
  const own = toolsetsOf(agent);
  const problems = (chat.toolsets ?? []).flatMap((toolset) =>
    own.includes(toolset)
      ? []
      : [
          {
            place: `chats.${name}.toolsets`,
            reason: `agent \`${chat.agent}\` does not have the toolset \`${toolset}\`. A chat can only use toolsets of its agent.`,
          },
        ],
  );
  if (chat.tools !== undefined && agent.kind !== 'llm') {
    problems.push({
      place: `chats.${name}.tools`,
      reason: `agent \`${chat.agent}\` is of kind ${agent.kind} and has no tools of ours. Remove this key.`,
    });
  }
  return problems;
}

/** The platforms whose targets send files (`Target.sendFile` of delivery). */
const SENDS_FILES: readonly string[] = [
  'telegram',
  'slack',
  'discord',
  'mattermost',
  'matrix',
  'email',
] satisfies ChatConfig['platform'][];

function fileProblems(name: string, { platform, files }: ChatConfig): ConfigProblem[] {
  if (!files.deliver || SENDS_FILES.includes(platform)) return [];
  const reason = `files are not sent to ${platform}. Platforms that take them: ${SENDS_FILES.join(', ')}. Remove this key.`;
  return [{ place: `chats.${name}.files.deliver`, reason }];
}

/** What a webhook of each platform is verified with. */
function receiveProblems(name: string, chat: ChatConfig): ConfigProblem[] {
  switch (chat.platform) {
    case 'telegram': {
      if (chat.receive !== 'webhook' || chat.webhook_secret !== undefined) return [];
      const reason =
        'a webhook needs the secret that Telegram sends with each update. Set it, for example to the output of `openssl rand -hex 32`.';
      return [{ place: `chats.${name}.webhook_secret`, reason }];
    }
    case 'slack': {
      if (chat.receive === 'webhook' && chat.signing_secret === undefined) {
        const reason =
          'a webhook needs the Signing Secret of the Slack app (Basic Information, App Credentials). Set it.';
        return [{ place: `chats.${name}.signing_secret`, reason }];
      }
      if (chat.receive === 'connection' && chat.app_token === undefined) {
        const reason =
          'a connection needs an app-level token of the Slack app with `connections:write` (Basic Information). Set it, or set `receive: webhook`.';
        return [{ place: `chats.${name}.app_token`, reason }];
      }
      return [];
    }
    case 'mattermost': {
      if (chat.receive !== 'webhook' || chat.outgoing_token !== undefined) return [];
      const reason =
        'a webhook needs the token of the outgoing webhook of Mattermost. Set it, or set `receive: connection`.';
      return [{ place: `chats.${name}.outgoing_token`, reason }];
    }
    case 'discord': {
      if (chat.receive !== 'webhook' || chat.public_key !== undefined) return [];
      const reason =
        'an interactions URL needs the public key that Discord signs with. Copy it from General Information of the application at discord.com/developers.';
      return [{ place: `chats.${name}.public_key`, reason }];
    }
    case 'matrix':
      return [];
    case 'github_comment':
      return [];
    case 'email':
      return mailProblems(name, chat);
  }
}

function mailProblems(name: string, chat: Extract<ChatConfig, { platform: 'email' }>): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const { receive, imap, provider, authserv_id, speakers } = chat;
  if (receive === 'connection' && imap === undefined) {
    const reason = 'a connection needs a mailbox. Set `imap`, or `receive: webhook` and `provider`.';
    problems.push({ place: `chats.${name}.imap`, reason });
  }
  if (receive === 'webhook' && provider === undefined) {
    const reason = 'a webhook needs the provider that posts the mails: mailgun or postmark. Set `provider`.';
    problems.push({ place: `chats.${name}.provider`, reason });
  }
  if (imap !== undefined && imap.security === 'none' && !isLoopback(imap.host)) {
    const reason = 'a password is not sent over an unencrypted connection. Use tls or starttls.';
    problems.push({ place: `chats.${name}.imap.security`, reason });
  }
  if (authserv_id === undefined && !speakers.unauthenticated) {
    const reason =
      'anybody can write any sender into a mail. Set this to the name that your mail server uses in `Authentication-Results`, such as mx.example.com.';
    problems.push({ place: `chats.${name}.authserv_id`, reason });
  }
  return problems;
}
