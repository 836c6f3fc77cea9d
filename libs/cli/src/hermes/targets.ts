import type { Notes } from './notes.ts';
import { countOf, present, type Section, sectionOf, textOf } from './untyped-values.ts';
import type { Variables } from './variables.ts';

/** Our names for what Hermes calls `chat_id` and `thread_id` at every target. */
interface AddressKeys {
  readonly chat: string;
  readonly thread?: string;
}

export const addressKeys: Readonly<Record<string, AddressKeys>> = {
  telegram: { chat: 'chat_id', thread: 'message_thread_id' },
  discord: { chat: 'channel_id', thread: 'thread_id' },
  slack: { chat: 'channel', thread: 'thread_ts' },
  matrix: { chat: 'room_id', thread: 'thread_id' },
  mattermost: { chat: 'channel_id', thread: 'root_id' },
  email: { chat: 'to' },
};

/** The targets with Hermes' credentials, and with its home channel as the default address. */
export function importTargets(config: Section, variables: Variables, notes: Notes): Record<string, unknown> {
  const platforms = sectionOf(config.platforms);
  const targets: Record<string, unknown> = {};
  for (const name of Object.keys(addressKeys)) {
    const place = `platforms.${name}`;
    const platform = withExtra(platforms[name]);
    const options = optionsOf(name, platform, variables);
    if (options === null) continue;
    targets[name] = present({ ...options, ...homeOf(name, platform, variables) });
    if (name !== 'email') {
      notes.add(
        place,
        `${name} is only a target here: answers go there, but nobody can write to an agent there`,
        'keep Hermes for the chat, or let people answer questions with the link in the question',
      );
    }
  }
  const github = variables.reference('GH_TOKEN', 'GITHUB_TOKEN');
  if (github !== undefined) targets.github_comment = { token: github };
  return targets;
}

/** A key under `extra` wins over the same key beside it. */
export function withExtra(platform: unknown): Section {
  const section = sectionOf(platform);
  return { ...section, ...sectionOf(section.extra) };
}

function optionsOf(name: string, platform: Section, variables: Variables): Section | null {
  const upper = name.toUpperCase();
  const token = (variable: string): string | undefined => {
    const inline = textOf(platform.token) ?? textOf(platform.api_key) ?? textOf(platform.bot_token);
    return inline === undefined ? variables.reference(variable) : variables.secret(variable, inline);
  };
  switch (name) {
    case 'telegram':
    case 'discord':
    case 'slack': {
      const botToken = token(`${upper}_BOT_TOKEN`);
      return botToken === undefined ? null : { bot_token: botToken };
    }
    case 'matrix': {
      const accessToken = token('MATRIX_ACCESS_TOKEN');
      const base = textOf(platform.homeserver) ?? variables.value('MATRIX_HOMESERVER');
      return accessToken === undefined || base === undefined
        ? null
        : { api_base: base, access_token: accessToken };
    }
    case 'mattermost': {
      const own = token('MATTERMOST_TOKEN');
      const base = textOf(platform.url) ?? variables.value('MATTERMOST_URL');
      return own === undefined || base === undefined ? null : { api_base: base, token: own };
    }
    default:
      return emailOptions(platform, variables);
  }
}

const SMTP_OVER_TLS = 465;
const SMTP_SUBMISSION = 587;

function emailOptions(platform: Section, variables: Variables): Section | null {
  const address = textOf(platform.address) ?? variables.value('EMAIL_ADDRESS');
  const host = textOf(platform.smtp_host) ?? variables.value('EMAIL_SMTP_HOST');
  const inline = textOf(platform.password);
  const password =
    inline === undefined ? variables.reference('EMAIL_PASSWORD') : variables.secret('EMAIL_PASSWORD', inline);
  if (address === undefined || host === undefined || password === undefined) return null;
  const port = countOf(platform.smtp_port) ?? countOf(variables.value('EMAIL_SMTP_PORT')) ?? SMTP_SUBMISSION;
  return {
    host,
    port,
    security: port === SMTP_OVER_TLS ? 'tls' : 'starttls',
    user: address,
    password,
    from: address,
  };
}

function homeOf(name: string, platform: Section, variables: Variables): Section {
  const { chat, thread } = addressKeys[name] ?? { chat: 'chat_id' };
  const home = sectionOf(platform.home_channel);
  const upper = name.toUpperCase();
  const variable =
    { matrix: 'MATRIX_HOME_ROOM', email: 'EMAIL_HOME_ADDRESS' }[name] ?? `${upper}_HOME_CHANNEL`;
  const at = textOf(home.chat_id) ?? variables.value(variable);
  if (at === undefined) return {};
  const topic = textOf(home.thread_id) ?? variables.value(`${upper}_HOME_CHANNEL_THREAD_ID`);
  return { [chat]: at, ...(thread === undefined || topic === undefined ? {} : { [thread]: topic }) };
}

/** A route's `deliver_extra` with our names. A key without an equivalent gets a note. */
export function importAddress(
  place: string,
  target: string,
  extra: Section,
  notes: Notes,
): Record<string, unknown> {
  const { chat, thread } = addressKeys[target] ?? {};
  const address: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(extra)) {
    if (value === '' || value === null) continue;
    const own = ownKey(target, key, chat, thread);
    if (own === null) {
      notes.add(
        `${place}.${key}`,
        `target ${target} has no \`${key}\``,
        'it is left out; docs/targets.md lists the keys of each target',
      );
    } else {
      address[own] ??= value;
    }
  }
  return address;
}

function ownKey(
  target: string,
  key: string,
  chat: string | undefined,
  thread: string | undefined,
): string | null {
  if (target === 'github_comment')
    return key === 'repo' || key === 'pr_number' || key === 'issue_number' ? key : null;
  if (key === 'chat_id') return chat ?? null;
  if (key === 'message_thread_id' || key === 'thread_id') return thread ?? null;
  if (target === 'email' && key === 'subject') return key;
  return key === chat || key === thread ? key : null;
}
