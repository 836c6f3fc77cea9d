import type { PlatformCall } from '../../platform.ts';
import { CallRefused } from '../call-json.ts';
import { callDiscord } from './discord-call.ts';
import { channelSchema, parentOf } from './discord-interaction.ts';

/** Bounds memory. A server has at most 500 channels, and 1,000 open threads. */
const MOST = 10_000;

interface Channel {
  /** The channel around a thread; null: it is not a thread. */
  readonly parent: string | null;
  readonly direct: boolean;
}

const UNKNOWN: Channel = { parent: null, direct: false };

/** A message does not say whether its channel is a thread. Each channel is asked for once; it never changes. */
export class Channels {
  readonly #known = new Map<string, Channel>();
  readonly #context: PlatformCall;

  constructor(context: PlatformCall) {
    this.#context = context;
  }

  /** @throws Error if Discord cannot be asked now */
  async parentOf(id: string): Promise<string | null> {
    return (await this.find(id)).parent;
  }

  async find(id: string): Promise<Channel> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const channel = await this.#ask(id);
    if (this.#known.size >= MOST) this.#known.clear();
    this.#known.set(id, channel);
    return channel;
  }

  async #ask(id: string): Promise<Channel> {
    try {
      const answer = await callDiscord('GET', `/channels/${encodeURIComponent(id)}`, this.#context);
      const channel = channelSchema.safeParse(answer);
      if (!channel.success) return UNKNOWN;
      return { parent: parentOf(channel.data), direct: channel.data.guild_id == null };
    } catch (error) {
      // The channel is gone, or we may not see it. Its message arrived nevertheless.
      if (error instanceof CallRefused && (error.status === 403 || error.status === 404)) return UNKNOWN;
      throw error;
    }
  }
}
