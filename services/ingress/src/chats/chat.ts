import { opensSessionFiles, targetSchema, toolPolicyOf } from '@angelia/config';
import type { ChatConfig, Config } from '@angelia/contracts';
import type { CreateSession } from '@angelia/session';
import type { ChatPlatform, PlatformSettings } from './platform.ts';
import { platformNamed } from './platform-registry.ts';

/** A chat of the config, with everything computed that does not depend on an update. */
export interface Chat {
  readonly name: string;
  /** The route of its sessions: `chat:<name>`. */
  readonly route: string;
  readonly platform: ChatPlatform;
  readonly enabled: boolean;
  readonly receive: 'webhook' | 'connection';
  readonly settings: PlatformSettings;
  readonly publicUrl: string | null;
  readonly speakers: {
    readonly users: ReadonlySet<string>;
    readonly chats: ReadonlySet<string>;
    readonly anyone: boolean;
  };
  readonly strangerReply: string | null;
  readonly conversations: boolean;
  readonly agent: string;
  readonly toolsets: readonly string[] | null;
  readonly tools: NonNullable<CreateSession['tools']> | null;
  readonly mention: boolean;
  readonly sessionPer: ChatConfig['session_per'];
  readonly onBusy: ChatConfig['on_busy'];
  readonly interim: ChatConfig['interim'];
  readonly files: { readonly take: boolean; readonly maxBytes: number; readonly types: ReadonlySet<string> };
  /** Whether an agent with these toolsets (null: its own) can open files in the directory of its session. */
  readonly opensFiles: (agent: string, toolsets: readonly string[] | null) => boolean;
  /** Bounds of the files that answers bring along. Null: they bring none. */
  readonly deliverFiles: NonNullable<CreateSession['deliverFiles']> | null;
  /** For how long an update is known to have been taken. */
  readonly keepSeconds: number;
}

const SECONDS_PER_DAY = 86_400;

/** Expects a checked config: platforms are configured as targets, agents exist. */
export function compileChats(config: Config): ReadonlyMap<string, Chat> {
  return new Map(
    Object.entries(config.chats).map(([name, chat]): [string, Chat] => [
      name,
      {
        name,
        route: `chat:${name}`,
        platform: platformNamed(chat.platform),
        enabled: chat.enabled,
        receive: chat.receive,
        settings: {
          chat,
          target: targetSchema(chat.platform).options.parse(config.targets[chat.platform] ?? {}),
        },
        publicUrl: config.public_url?.replace(/\/+$/, '') ?? null,
        speakers: {
          users: new Set(chat.speakers.users),
          chats: new Set(chat.speakers.chats),
          anyone: chat.speakers.anyone,
        },
        strangerReply: chat.stranger_reply ?? null,
        conversations: chat.conversations,
        agent: chat.agent,
        toolsets: chat.toolsets ?? null,
        tools: toolPolicyOf(config, { agent: chat.agent, tools: chat.tools, deliver_only: false }),
        mention: chat.mention,
        sessionPer: chat.session_per,
        onBusy: chat.on_busy,
        interim: chat.interim,
        files: {
          take: chat.files.take,
          maxBytes: chat.files.max_bytes,
          types: new Set(chat.files.types.map((type) => type.toLowerCase())),
        },
        opensFiles: (agent, toolsets) => opensSessionFiles(config, agent, toolsets),
        deliverFiles: chat.files.deliver
          ? {
              max_bytes: chat.files.max_bytes,
              types: chat.files.types.map((type) => type.toLowerCase()),
            }
          : null,
        keepSeconds: Math.ceil(config.retention.delivery_ids_days * SECONDS_PER_DAY),
      },
    ]),
  );
}
