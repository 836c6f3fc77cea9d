import { randomUUID } from 'node:crypto';
import type { RunningConfig } from '@angelia/config';
import type { EventLog } from '@angelia/event-log';
import { CONFIG, EVENT_LOG, SESSIONS } from '@angelia/service-kit';
import type { Sessions } from '@angelia/sessions';
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { Actor } from '../../access/caller.ts';
import type { Chat } from '../../chats/chat.ts';
import { ChatConnections } from '../../chats/connect/chat-connections.ts';
import { newPairingCode, pairingCodeHash } from '../../chats/pairing/pairing-code.ts';
import { pairingAppend } from '../../chats/pairing/pairings.ts';
import { ChatTaking } from '../../chats/take/chat-taking.ts';
import { commandMenu } from '../../chats/take/commands/commands.ts';
import { parseBody } from '../../http/parse-request.ts';
import { Refusal } from '../../http/refusal.ts';
import type { IngressSettings } from '../../settings.ts';
import {
  type ChatJson,
  type ChatSetupJson,
  newPairing,
  type PairingCodeJson,
  type PairingJson,
} from './chats.operations.ts';

/** Long enough to find the bot and type it. */
const CODE_MS = 600_000;
/** A pairing meets a conflict only with another one of the same chat. */
const MOST_TRIES = 20;
/** Some calls of the platform, one after the other. */
const SETUP_MS = 20_000;

@Controller('/v1/chats')
@UseGuards(AdminTokenGuard)
export class ChatsController {
  constructor(
    @Inject(CONFIG) private readonly config: RunningConfig<IngressSettings>,
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(SESSIONS) private readonly sessions: Sessions,
    @Inject(ChatTaking) private readonly taking: ChatTaking,
    @Inject(ChatConnections) private readonly connections: ChatConnections,
  ) {}

  @Get()
  list(): { items: ChatJson[] } {
    const status = new Map(this.connections.status().map((one) => [one.chat, one]));
    const items = [...this.config.settings.chats.values()].map((chat): ChatJson => {
      const { leading = false, connected = false, error = null } = status.get(chat.name) ?? {};
      return {
        name: chat.name,
        platform: chat.platform.name,
        receive: chat.receive,
        enabled: chat.enabled,
        webhook_url: webhookUrl(chat),
        connection: chat.receive === 'connection' ? { leading, connected, error } : null,
      };
    });
    return { items };
  }

  @Post('/:name/setup')
  @HttpCode(200)
  async setup(@Param('name') name: string): Promise<ChatSetupJson> {
    const chat = this.#chat(name);
    const { platform, settings } = chat;
    if (platform.setup === undefined) {
      return { done: [`There is nothing to set up for ${platform.name}.`], todo: [], paste: null };
    }
    try {
      const wanted = { commands: commandMenu(), webhookUrl: webhookUrl(chat) };
      const { done, todo, paste } = await platform.setup(wanted, {
        settings,
        signal: AbortSignal.timeout(SETUP_MS),
      });
      return { done: [...done], todo: [...todo], paste: paste ?? null };
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      throw new Refusal(409, 'setup_failed', `the platform refused: ${words}`);
    }
  }

  @Get('/:name/pairings')
  async pairings(@Param('name') name: string): Promise<{ items: PairingJson[] }> {
    this.#chat(name);
    const [{ pairings }, now] = await Promise.all([this.taking.pairings.read(name), this.sessions.now()]);
    const live = [...pairings.values()].filter(
      ({ accepted, expiresAt }) => accepted !== null || expiresAt > now,
    );
    return {
      items: live.map(({ id, name: called, offeredAt, offeredBy, expiresAt, accepted }) => ({
        id,
        name: called,
        offered_at: iso(offeredAt),
        offered_by: offeredBy,
        expires_at: iso(expiresAt),
        accepted: accepted === null ? null : { kind: accepted.kind, id: accepted.id, at: iso(accepted.at) },
      })),
    };
  }

  @Post('/:name/pairings')
  async pair(
    @Param('name') name: string,
    @Body() body: unknown,
    @Actor() actor: string,
  ): Promise<PairingCodeJson> {
    this.#chat(name);
    const { name: called } = parseBody(newPairing, body);
    const code = newPairingCode();
    const id = randomUUID();
    const expires_at = iso((await this.sessions.now()) + CODE_MS);
    const offered = { pairing_id: id, name: called, code_digest: pairingCodeHash(code), expires_at };
    await this.#append(name, (version) => pairingAppend(name, version, 'pairing.offered', offered, actor));
    return { id, name: called, code, expires_at };
  }

  @Delete('/:name/pairings/:id')
  @HttpCode(204)
  async revoke(@Param('name') name: string, @Param('id') id: string, @Actor() actor: string): Promise<void> {
    this.#chat(name);
    const { pairings } = await this.taking.pairings.read(name);
    if (!pairings.has(id)) {
      throw new Refusal(404, 'unknown_pairing', `no such pairing: GET /v1/chats/${name}/pairings lists them`);
    }
    await this.#append(name, (version) =>
      pairingAppend(name, version, 'pairing.revoked', { pairing_id: id }, actor),
    );
  }

  async #append(name: string, at: (version: number) => ReturnType<typeof pairingAppend>): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const { version } = await this.taking.pairings.read(name);
      const { status } = await this.log.append({ streams: [at(version)] });
      if (status === 'appended') {
        // This replica applies it at once. The others read it within two seconds.
        await this.taking.pairings.read(name);
        return;
      }
    }
    throw new Refusal(
      503,
      'pairing_busy',
      'somebody else is changing the pairings of this chat: try again',
      1,
    );
  }

  #chat(name: string): Chat {
    const chat = this.config.settings.chats.get(name);
    if (chat === undefined) throw new Refusal(404, 'unknown_chat', 'no such chat: GET /v1/chats lists them');
    return chat;
  }
}

function webhookUrl({ publicUrl, platform, name, receive }: Chat): string | null {
  const isOpen = receive === 'webhook' || platform.webhook?.besideConnection === true;
  return publicUrl === null || !isOpen ? null : `${publicUrl}/chats/${platform.name}/${name}`;
}

const iso = (ms: number) => new Date(ms).toISOString();
