import { generateKeyPairSync, sign } from 'node:crypto';
import { type DiscordGateway, startDiscordGateway } from './discord-gateway.ts';
import {
  type DiscordPerson,
  type DiscordWriting,
  discordClick,
  discordCommand,
  discordMessage,
} from './discord-payloads.ts';
import {
  Malformed,
  type PlatformAnswer,
  type PlatformRequest,
  type StandIn,
  startStandIn,
} from './stand-in.ts';

interface DiscordButton {
  readonly label: string;
  readonly custom_id: string;
  readonly style: number;
}

interface DiscordMessage {
  readonly id: string;
  readonly channelId: string;
  readonly nonce: string | null;
  /** As people wrote it; null: the bot wrote it. */
  readonly written: Readonly<Record<string, unknown>> | null;
  content: string;
  buttons: readonly DiscordButton[];
  /** Null: none came with it. */
  readonly file: DiscordFile | null;
  edits: number;
}

interface DiscordFile {
  readonly name: string;
  readonly type: string;
  readonly bytes: Buffer;
}

interface Interaction {
  readonly id: string;
  readonly token: string;
  /** `type` and `data` of the answer; null: none came yet. */
  answer: Readonly<Record<string, unknown>> | null;
  /** What replaced an answer that said "later". */
  edited: string | null;
}

type Writing = Omit<DiscordWriting, 'id'>;

export interface DoneOn {
  readonly channel: string;
  readonly from: DiscordPerson;
  readonly guild?: string | null;
  readonly parent?: string;
}

export interface DiscordStandIn extends StandIn {
  readonly gateway: DiscordGateway;
  readonly botId: string;
  readonly applicationId: string;
  /** What the bot wrote. */
  readonly messages: readonly DiscordMessage[];
  readonly interactions: readonly Interaction[];
  readonly commands: readonly Readonly<Record<string, unknown>>[];
  readonly interactionsUrl: string | null;
  /** Channels in which the bot is shown as typing. */
  readonly typing: readonly string[];
  /** The public key of the application, in hex. */
  readonly publicKey: string;
  shownIn(channelId: string): string[];
  /** A channel is a thread of another one. */
  thread(id: string, parent: string): void;
  /** A person writes: everybody on the gateway gets it. Returns the id. */
  write(writing: Writing): string;
  /** A person clicks the button with this label, below the message. Returns the interaction's id. */
  click(message: string, label: string, done: DoneOn): string;
  /** A person uses a command of the menu. */
  command(name: string, text: string | undefined, done: DoneOn): string;
  /** An interaction as Discord posts it to the interactions URL. */
  signed(
    body: unknown,
    seconds?: number,
  ): { readonly headers: Record<string, string>; readonly body: string };
  /** The payload of a click that nobody sent yet. */
  clickPayload(message: string, data: string, done: DoneOn): Readonly<Record<string, unknown>>;
  commandPayload(name: string, text: string | undefined, done: DoneOn): Readonly<Record<string, unknown>>;
  /** The flags of the application; at first GATEWAY_MESSAGE_CONTENT_LIMITED. */
  setFlags(flags: number): void;
  /** Forgets the nonces, as Discord does after a few minutes. */
  forgetNonces(): void;
  /** The next message exhausts the rate limit for this long. */
  emptyBucket(seconds: number): void;
  delete(messageId: string): void;
}

const MOST_CHARACTERS = 2_000;
const SUPPRESS_EMBEDS = 4;
const KEYS: Readonly<Record<string, ReadonlySet<string>>> = {
  POST: new Set([
    'content',
    'nonce',
    'enforce_nonce',
    'allowed_mentions',
    'flags',
    'components',
    'attachments',
  ]),
  PATCH: new Set(['content', 'allowed_mentions', 'flags', 'components']),
};
/** "The default limit is 10 MiB". */
const MOST_FILE_BYTES = 10 * 1024 * 1024;
/** Ids of 2026 have 19 digits and grow. */
const FIRST_ID = 9_000_000_000_000_000_000n;

export interface DiscordOptions {
  readonly token: string;
  readonly botId?: string;
  readonly heartbeatMs?: number;
  /** Discord refuses the token everywhere. */
  readonly port?: number;
}

/**
 * The parts of Discord that a bot uses (https://docs.discord.com/developers), under `/api/v10`: messages, interactions, files,
 * and the gateway on a port of its own. Every channel exists except `404` (unknown) and `403` (no permission).
 */
export async function startDiscord(options: DiscordOptions): Promise<DiscordStandIn> {
  const botId = options.botId ?? '1';
  const applicationId = '5';
  const messages: DiscordMessage[] = [];
  const interactions: Interaction[] = [];
  const threads = new Map<string, string>();
  const typing: string[] = [];
  const nonces = new Map<string, DiscordMessage>();
  const keys = generateKeyPairSync('ed25519');
  const gateway = await startDiscordGateway({ ...options, botId, applicationId });
  let commands: readonly Readonly<Record<string, unknown>>[] = [];
  let interactionsUrl: string | null = null;
  let flags = 1 << 19;
  let bucketSeconds: number | null = null;
  let made = 0n;
  const nextId = () => {
    made += 1n;
    return String(FIRST_ID + made);
  };
  const error = (status: number, code: number, message: string): PlatformAnswer => ({
    status,
    body: { code, message },
  });
  const invalid = (what: string) => new Malformed(what, error(400, 50_035, 'Invalid Form Body'));

  function answer(request: PlatformRequest): PlatformAnswer | Promise<PlatformAnswer> {
    const { method, path } = request;
    // The address of a file is signed. The token must not go there.
    if (path.startsWith('/attachments/')) {
      if (request.headers.authorization !== undefined) throw invalid('the token was sent to the CDN');
      return { status: 200, body: `file ${path}`, headers: { 'content-type': 'application/octet-stream' } };
    }
    if (request.headers.authorization !== `Bot ${options.token}`) return error(401, 0, '401: Unauthorized');
    if (!/^DiscordBot \(\S+, \S+\)/.test(request.headers['user-agent'] ?? '')) throw invalid('user-agent');
    const type = request.headers['content-type'] ?? '';
    const route = `${method} ${path.replace('/api/v10', '')}`;
    const withFile = /^POST \/channels\/(\d+)\/messages$/.exec(route);
    if (withFile !== null && type.startsWith('multipart/form-data; boundary='))
      return createWithFile(withFile[1] ?? '', request);
    if (request.raw !== '' && !/^application\/json/.test(type)) throw invalid('content-type');
    if (route === 'GET /users/@me')
      return { status: 200, body: { id: botId, username: 'stand-in', bot: true } };
    if (route === 'GET /gateway/bot') return { status: 200, body: gatewayInfo() };
    if (route === 'POST /users/@me/channels') {
      const { recipient_id: recipient } = request.body as { recipient_id: string };
      return { status: 200, body: { id: `7${recipient}`, type: 1, recipients: [{ id: recipient }] } };
    }
    if (route.endsWith('/applications/@me')) return ofApplication(request);
    const callback = /^POST \/interactions\/(\d+)\/([^/]+)\/callback$/.exec(route);
    const original = /^PATCH \/webhooks\/(\d+)\/([^/]+)\/messages\/@original$/.exec(route);
    if (original !== null) return editAnswer(original[1] ?? '', original[2] ?? '', request.body);
    if (callback !== null) return respondTo(callback[1] ?? '', callback[2] ?? '', request.body);
    if (route === `PUT /applications/${applicationId}/commands`) return register(request.body);
    return ofChannel(request, route);
  }

  function gatewayInfo(): unknown {
    const session_start_limit = { total: 1_000, remaining: 999, reset_after: 14_400_000, max_concurrency: 1 };
    return { url: gateway.url, shards: 1, session_start_limit };
  }

  function ofApplication({ method, body }: PlatformRequest): PlatformAnswer {
    if (method === 'PATCH') {
      const { interactions_endpoint_url: url } = body as { interactions_endpoint_url?: unknown };
      if (url !== null && (typeof url !== 'string' || !url.startsWith('https://')))
        throw invalid('interactions_endpoint_url');
      interactionsUrl = url;
    }
    return {
      status: 200,
      body: {
        id: applicationId,
        name: 'angelia',
        flags,
        interactions_endpoint_url: interactionsUrl,
      },
    };
  }

  function ofChannel(request: PlatformRequest, route: string): PlatformAnswer {
    const { method } = request;
    const [, channel = '', rest, id] =
      /^[A-Z]+ \/channels\/(\d+)(\/typing|\/messages(?:\/(\d+))?)?$/.exec(route) ?? [];
    if (channel === '') return error(404, 0, '404: Not Found');
    if (channel === '404') return error(404, 10_003, 'Unknown Channel');
    if (channel === '403') return error(403, 50_013, 'Missing Permissions');
    if (rest === undefined)
      return method === 'GET' ? showChannel(channel) : error(405, 0, '405: Method Not Allowed');
    if (rest === '/typing') {
      typing.push(channel);
      return { status: 204 };
    }
    if (method === 'GET') return list(channel, request.query);
    if (KEYS[method] === undefined) return error(405, 0, '405: Method Not Allowed');
    const body = (request.body ?? {}) as Record<string, unknown>;
    check(method, body);
    return id === undefined ? create(channel, body) : edit(channel, id, body);
  }

  function showChannel(id: string): PlatformAnswer {
    const parent = threads.get(id);
    if (id.startsWith('7')) return { status: 200, body: { id, type: 1 } };
    return {
      status: 200,
      body: {
        id,
        guild_id: '900',
        name: 'general',
        type: parent === undefined ? 0 : 11,
        parent_id: parent ?? null,
      },
    };
  }

  /** Newest first, but those right after `after`. */
  function list(channel: string, query: URLSearchParams): PlatformAnswer {
    const after = query.get('after');
    const limit = Number(query.get('limit') ?? '50');
    if (after === null || !(limit >= 1 && limit <= 100)) throw invalid('limit');
    const found = messages
      .filter(({ channelId, id }) => channelId === channel && BigInt(id) > BigInt(after))
      .slice(0, limit)
      // What is asked for does not name its server.
      .map((one) =>
        one.written === null ? view(one) : { ...one.written, guild_id: undefined, member: undefined },
      );
    return { status: 200, body: found.reverse() };
  }

  /** https://docs.discord.com/developers/reference#uploading-files */
  async function createWithFile(
    channel: string,
    { headers, bytes }: PlatformRequest,
  ): Promise<PlatformAnswer> {
    const type = headers['content-type'] ?? '';
    const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData();
    const file = form.get('files[0]');
    if ([...form.keys()].sort().join() !== 'files[0],payload_json') throw invalid('fields of the form');
    if (file === null || typeof file === 'string' || file.size === 0) throw invalid('files[0]');
    if (file.size > MOST_FILE_BYTES) return error(413, 40_005, 'Request entity too large');
    if (channel === '403') return error(403, 50_013, 'Missing Permissions');
    const body = JSON.parse(String(form.get('payload_json'))) as Record<string, unknown>;
    const [attachment] = (body.attachments ?? []) as { id?: unknown; filename?: unknown }[];
    if (attachment?.id !== 0 || attachment.filename !== file.name) throw invalid('attachments');
    // Beside a file a message needs no text.
    check('POST', { ...body, content: body.content ?? 'a file' });
    const kept = { name: file.name, type: file.type, bytes: Buffer.from(await file.arrayBuffer()) };
    return create(channel, { ...body, content: body.content ?? '' }, kept);
  }

  function check(method: string, { content, nonce, components, ...body }: Record<string, unknown>): void {
    for (const key of Object.keys(body)) if (!KEYS[method]?.has(key)) throw invalid(`unknown key ${key}`);
    if (typeof content !== 'string' || content.trim() === '') throw invalid('content');
    if ([...content].length > MOST_CHARACTERS) throw invalid(`${[...content].length} characters`);
    if ((content.split('```').length - 1) % 2 !== 0) throw invalid('an open code block');
    if (nonce !== undefined && (typeof nonce !== 'string' || nonce.length > 25)) throw invalid('nonce');
    if (JSON.stringify(body.allowed_mentions) !== '{"parse":[]}') throw invalid('it can ping');
    if (body.flags !== SUPPRESS_EMBEDS) throw invalid('flags');
    if (components !== undefined) checkRows(components);
  }

  /** https://docs.discord.com/developers/components/reference */
  function checkRows(rows: unknown): void {
    if (!Array.isArray(rows) || rows.length > 5) throw invalid('more than 5 rows');
    const names = new Set<unknown>();
    for (const row of rows as { type?: unknown; components?: unknown }[]) {
      if (row.type !== 1 || !Array.isArray(row.components)) throw invalid('no action row');
      if (row.components.length < 1 || row.components.length > 5) throw invalid('1 to 5 buttons per row');
      for (const button of row.components as Record<string, unknown>[]) {
        const { type, style, label, custom_id: name } = button;
        if (type !== 2 || ![1, 2, 3, 4].includes(style as number)) throw invalid('no button');
        if (typeof label !== 'string' || label === '' || label.length > 80) throw invalid('label');
        if (typeof name !== 'string' || name === '' || name.length > 100) throw invalid('custom_id');
        if (names.has(name)) throw invalid('a custom_id twice');
        names.add(name);
      }
    }
  }

  function create(
    channelId: string,
    body: Record<string, unknown>,
    file: DiscordFile | null = null,
  ): PlatformAnswer {
    const nonce = typeof body.nonce === 'string' ? body.nonce : null;
    const known =
      body.enforce_nonce === true && nonce !== null ? nonces.get(`${channelId} ${nonce}`) : undefined;
    if (known) return { status: 200, body: view(known) };
    const message: DiscordMessage = {
      id: nextId(),
      channelId,
      nonce,
      written: null,
      content: String(body.content),
      buttons: buttonsIn(body.components),
      file,
      edits: 0,
    };
    messages.push(message);
    if (nonce !== null) nonces.set(`${channelId} ${nonce}`, message);
    gateway.dispatch('MESSAGE_CREATE', ofBot(message));
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
    if (message.written !== null) return error(403, 50_005, 'Cannot edit a message authored by another user');
    message.content = String(body.content);
    if (body.components !== undefined) message.buttons = buttonsIn(body.components);
    message.edits += 1;
    gateway.dispatch('MESSAGE_UPDATE', ofBot(message));
    return { status: 200, body: view(message) };
  }

  function ofBot({ id, channelId, content }: DiscordMessage): unknown {
    const from = { id: botId, name: 'angelia', bot: true };
    return discordMessage({ id, channel: channelId, from, text: content });
  }

  /** https://docs.discord.com/developers/interactions/receiving-and-responding#create-interaction-response */
  function respondTo(id: string, token: string, body: unknown): PlatformAnswer {
    const found = interactions.find((one) => one.id === id && one.token === token);
    if (found === undefined) return error(404, 10_062, 'Unknown interaction');
    if (found.answer !== null) return error(400, 40_060, 'Interaction has already been acknowledged.');
    checkAnswer(body);
    found.answer = body as Record<string, unknown>;
    return { status: 204 };
  }

  /** .../receiving-and-responding#edit-original-interaction-response */
  function editAnswer(application: string, token: string, body: unknown): PlatformAnswer {
    const found = interactions.find((one) => application === applicationId && one.token === token);
    if (found === undefined || found.answer === null) return error(404, 10_015, 'Unknown Webhook');
    const { content } = body as { readonly content?: unknown };
    if (typeof content !== 'string' || content === '' || content.length > MOST_CHARACTERS)
      throw invalid('content');
    found.edited = content;
    return { status: 200, body: {} };
  }

  function checkAnswer(body: unknown): void {
    const { type, data } = (body ?? {}) as { type?: unknown; data?: Record<string, unknown> };
    if (![4, 5, 6, 7].includes(type as number)) throw invalid('type');
    if (type !== 4) return;
    if (typeof data?.content !== 'string' || data.content === '' || data.content.length > MOST_CHARACTERS) {
      throw invalid('data.content');
    }
  }

  function register(body: unknown): PlatformAnswer {
    if (!Array.isArray(body) || body.length > 100) throw invalid('commands');
    for (const { name, description, type, options: given } of body as Record<string, unknown>[]) {
      if (typeof name !== 'string' || !/^[-_'\p{L}\p{N}]{1,32}$/u.test(name) || name !== name.toLowerCase()) {
        throw invalid(`name ${String(name)}`);
      }
      if (typeof description !== 'string' || description === '' || description.length > 100)
        throw invalid('description');
      if (type !== undefined && type !== 1) throw invalid('type');
      for (const option of (given ?? []) as Record<string, unknown>[]) {
        if (typeof option.name !== 'string' || typeof option.description !== 'string')
          throw invalid('option');
      }
    }
    commands = body as Record<string, unknown>[];
    return { status: 200, body };
  }

  function begin(): { readonly id: string; readonly applicationId: string; readonly token: string } {
    const id = nextId();
    const token = `aW50ZXJhY3Rpb24${id}`;
    interactions.push({ id, token, answer: null, edited: null });
    return { id, applicationId, token };
  }

  const clickPayload = (message: string, data: string, done: DoneOn) =>
    discordClick({ ...begin(), ...done, message, data });
  const commandPayload = (name: string, text: string | undefined, done: DoneOn) =>
    discordCommand({ ...begin(), ...done, name, ...(text === undefined ? {} : { text }) });

  const standIn = await startStandIn(
    {
      isMessage: ({ method, path }) => method !== 'GET' && /\/channels\/\d+\/messages(\/\d+)?$/.test(path),
      answer,
    },
    options.port,
  );
  return {
    ...standIn,
    get problems() {
      return [...standIn.problems, ...gateway.problems];
    },
    gateway,
    botId,
    applicationId,
    get messages() {
      return messages.filter(({ written }) => written === null);
    },
    interactions,
    get commands() {
      return commands;
    },
    get interactionsUrl() {
      return interactionsUrl;
    },
    typing,
    publicKey: keys.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex'),
    shownIn: (channelId) =>
      messages
        .filter((one) => one.channelId === channelId && one.written === null)
        .map(({ content }) => content),
    thread(id, parent) {
      threads.set(id, parent);
    },
    write(writing) {
      const id = nextId();
      const written = discordMessage({ ...writing, id });
      messages.push({
        id,
        channelId: writing.channel,
        nonce: null,
        written,
        content: writing.text,
        buttons: [],
        file: null,
        edits: 0,
      });
      gateway.dispatch('MESSAGE_CREATE', written);
      return id;
    },
    click(message, label, done) {
      const button = messages.find(({ id }) => id === message)?.buttons.find((one) => one.label === label);
      if (button === undefined) throw new Error(`message ${message} has no button ${label}`);
      const payload = clickPayload(message, button.custom_id, done);
      gateway.dispatch('INTERACTION_CREATE', payload);
      return String(payload.id);
    },
    command(name, text, done) {
      const payload = commandPayload(name, text, done);
      gateway.dispatch('INTERACTION_CREATE', payload);
      return String(payload.id);
    },
    clickPayload,
    commandPayload,
    signed(body, seconds = Math.floor(Date.now() / 1000)) {
      const text = JSON.stringify(body);
      const signature = sign(null, Buffer.from(`${seconds}${text}`), keys.privateKey).toString('hex');
      return {
        body: text,
        headers: {
          'content-type': 'application/json',
          'x-signature-ed25519': signature,
          'x-signature-timestamp': String(seconds),
        },
      };
    },
    setFlags(given) {
      flags = given;
    },
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
    async stop() {
      await gateway.stop();
      await standIn.stop();
    },
  };
}

function buttonsIn(components: unknown): readonly DiscordButton[] {
  if (!Array.isArray(components)) return [];
  return (components as { components: DiscordButton[] }[]).flatMap((row) => row.components);
}

function view({ id, channelId, content, nonce }: DiscordMessage): unknown {
  return { id, channel_id: channelId, content, type: 0, ...(nonce === null ? {} : { nonce }) };
}
