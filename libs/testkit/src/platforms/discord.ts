import {
  Malformed,
  type PlatformAnswer,
  type PlatformRequest,
  type StandIn,
  startStandIn,
} from './stand-in.ts';

interface DiscordMessage {
  readonly id: string;
  readonly channelId: string;
  readonly nonce: string | null;
  content: string;
  edits: number;
}

export interface DiscordStandIn extends StandIn {
  readonly messages: readonly DiscordMessage[];
  shownIn(channelId: string): string[];
  /** Forgets the nonces, as Discord does after a few minutes. */
  forgetNonces(): void;
  /** The next message exhausts the rate limit for this long. */
  emptyBucket(seconds: number): void;
  delete(messageId: string): void;
}

const MOST_CHARACTERS = 2_000;
const SUPPRESS_EMBEDS = 4;
const KEYS: Readonly<Record<string, ReadonlySet<string>>> = {
  POST: new Set(['content', 'nonce', 'enforce_nonce', 'allowed_mentions', 'flags']),
  PATCH: new Set(['content', 'allowed_mentions', 'flags']),
};

/**
 * The message part of the Discord API (https://docs.discord.com/developers/resources/message), under `/api/v10`. Every
 * channel exists except `404` (unknown) and `403` (no permission).
 */
export async function startDiscord(options: { readonly token: string }): Promise<DiscordStandIn> {
  const messages: DiscordMessage[] = [];
  const nonces = new Map<string, DiscordMessage>();
  let bucketSeconds: number | null = null;
  let made = 0;
  const error = (status: number, code: number, message: string): PlatformAnswer => ({
    status,
    body: { code, message },
  });
  const invalid = (what: string) => new Malformed(what, error(400, 50_035, 'Invalid Form Body'));

  function answer(request: PlatformRequest): PlatformAnswer {
    if (request.headers.authorization !== `Bot ${options.token}`) return error(401, 0, '401: Unauthorized');
    if (!/^DiscordBot \(\S+, \S+\)/.test(request.headers['user-agent'] ?? '')) throw invalid('user-agent');
    if (request.path === '/api/v10/users/@me')
      return { status: 200, body: { id: '1', username: 'stand-in', bot: true } };
    if (!/^application\/json/.test(request.headers['content-type'] ?? '')) throw invalid('content-type');
    const [, channel = '', id] =
      /^\/api\/v10\/channels\/(\d+)\/messages(?:\/(\d+))?$/.exec(request.path) ?? [];
    if (channel === '' || KEYS[request.method] === undefined) return error(404, 0, '404: Not Found');
    if (channel === '404') return error(404, 10_003, 'Unknown Channel');
    if (channel === '403') return error(403, 50_013, 'Missing Permissions');
    const body = (request.body ?? {}) as Record<string, unknown>;
    check(request.method, body);
    return id === undefined ? create(channel, body) : edit(channel, id, body);
  }

  function check(method: string, { content, nonce, ...body }: Record<string, unknown>): void {
    for (const key of Object.keys(body)) if (!KEYS[method]?.has(key)) throw invalid(`unknown key ${key}`);
    if (typeof content !== 'string' || content.trim() === '') throw invalid('content');
    if ([...content].length > MOST_CHARACTERS) throw invalid(`${[...content].length} characters`);
    if ((content.split('```').length - 1) % 2 !== 0) throw invalid('an open code block');
    if (nonce !== undefined && (typeof nonce !== 'string' || nonce.length > 25)) throw invalid('nonce');
    if (JSON.stringify(body.allowed_mentions) !== '{"parse":[]}') throw invalid('it can ping');
    if (body.flags !== SUPPRESS_EMBEDS) throw invalid('flags');
  }

  function create(channelId: string, body: Record<string, unknown>): PlatformAnswer {
    const nonce = typeof body.nonce === 'string' ? body.nonce : null;
    const known =
      body.enforce_nonce === true && nonce !== null ? nonces.get(`${channelId} ${nonce}`) : undefined;
    if (known) return { status: 200, body: view(known) };
    made += 1;
    const message = {
      id: `9${String(made).padStart(17, '0')}`,
      channelId,
      nonce,
      content: String(body.content),
      edits: 0,
    };
    messages.push(message);
    if (nonce !== null) nonces.set(`${channelId} ${nonce}`, message);
    const reset = bucketSeconds;
    bucketSeconds = null;
    return {
      status: 200,
      body: view(message),
      headers: {
        'x-ratelimit-bucket': 'abcd1234',
        'x-ratelimit-limit': '5',
        'x-ratelimit-remaining': reset === null ? '4' : '0',
        'x-ratelimit-reset-after': String(reset ?? 5),
      },
    };
  }

  function edit(channelId: string, id: string, body: Record<string, unknown>): PlatformAnswer {
    const message = messages.find((one) => one.id === id && one.channelId === channelId);
    if (message === undefined) return error(404, 10_008, 'Unknown Message');
    message.content = String(body.content);
    message.edits += 1;
    return { status: 200, body: view(message) };
  }

  const standIn = await startStandIn({ isMessage: ({ path }) => !path.endsWith('/users/@me'), answer });
  return {
    ...standIn,
    messages,
    shownIn: (channelId) =>
      messages.filter((one) => one.channelId === channelId).map(({ content }) => content),
    forgetNonces: () => nonces.clear(),
    emptyBucket(seconds) {
      bucketSeconds = seconds;
    },
    delete(messageId) {
      messages.splice(
        messages.findIndex(({ id }) => id === messageId),
        1,
      );
    },
  };
}

function view({ id, channelId, content, nonce }: DiscordMessage): unknown {
  return { id, channel_id: channelId, content, type: 0, ...(nonce === null ? {} : { nonce }) };
}
