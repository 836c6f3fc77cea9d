import { type MattermostSocket, mattermostSocket } from './mattermost-socket.ts';
import {
  Malformed,
  type PlatformAnswer,
  type PlatformRequest,
  type StandIn,
  startStandIn,
} from './stand-in.ts';

interface MattermostPost {
  readonly id: string;
  readonly userId: string;
  readonly channelId: string;
  readonly rootId: string;
  message: string;
  props: Readonly<Record<string, unknown>>;
  /** Those that came with it. */
  readonly files: readonly MattermostUpload[];
  readonly createdAt: number;
  updatedAt: number;
}

interface MattermostUpload {
  readonly channelId: string;
  readonly name: string;
  readonly type: string;
  readonly bytes: Buffer;
}

export interface MattermostStandIn extends StandIn {
  readonly posts: readonly MattermostPost[];
  /** Forgets the pending post ids, as a restart does. Mattermost keeps them for 30 s in the memory of one process. */
  forgetPending(): void;
  addPosts(channelId: string, messages: readonly string[]): void;
  readonly socket: MattermostSocket;
  /** How often the bot was shown typing, by channel and root. */
  readonly typing: readonly string[];
  /** Somebody writes a post. Clients on the WebSocket get it. */
  say(said: MattermostSaid, more?: Readonly<Record<string, unknown>>): MattermostPost;
  /** The labels of the buttons under a post. */
  buttonsOf(postId: string): readonly string[];
  /** Somebody clicks: the server calls the address of the button and returns what it answered. */
  click(postId: string, label: string, userId: string): Promise<{ status: number; body: unknown }>;
  /** A request as the server makes it, for a click that is to be repeated or changed. */
  clickBody(postId: string, label: string, userId: string): Record<string, unknown>;
  addFile(id: string, content: string): void;
  /** Bots may not add slash commands, unless an admin lets them. */
  allowCommands(): void;
  readonly commands: readonly Readonly<Record<string, unknown>>[];
}

export interface MattermostSaid {
  readonly channelId: string;
  readonly userId: string;
  readonly text: string;
  readonly rootId?: string;
  /** Nobody on the WebSocket gets it, as if they were away. */
  readonly unheard?: true;
}

/** The user that the bot is. */
export const MATTERMOST_BOT = { id: 'angeliabot0000000000000000', username: 'angelia' } as const;
const TEAM = 'team0000000000000000000001';

/** PostMessageMaxRunesV2. */
const MOST_RUNES = 16_383;
const ID = /^[a-z0-9]{26}$/;
/** A channel whose id begins so is a conversation of two. */
const DIRECT = 'direct';

/** The post part of Mattermost's API v4. Every channel exists except `nochannel0000000000000000x`. */
export async function startMattermost(options: { readonly token: string }): Promise<MattermostStandIn> {
  const posts: MattermostPost[] = [];
  const pending = new Map<string, string>();
  const typing: string[] = [];
  const files = new Map<string, string>();
  /** Until a post names them. */
  const uploads = new Map<string, MattermostUpload>();
  const commands: Record<string, unknown>[] = [];
  const problems: string[] = [];
  const socket = mattermostSocket(options.token, (what) => problems.push(what));
  let mayAddCommands = false;
  let made = 0;
  const error = (status: number, id: string, message: string): PlatformAnswer => ({
    status,
    body: { id, message, detailed_error: '', request_id: 'r', status_code: status },
  });
  const add = (
    post: Omit<MattermostPost, 'id' | 'createdAt' | 'updatedAt' | 'files'> &
      Partial<Pick<MattermostPost, 'files'>>,
  ): MattermostPost => {
    made += 1;
    const at = Date.now();
    const one = {
      files: [],
      ...post,
      id: `post${String(made).padStart(22, '0')}`,
      createdAt: at,
      updatedAt: at,
    };
    posts.push(one);
    return one;
  };

  function answer(request: PlatformRequest): PlatformAnswer | Promise<PlatformAnswer> {
    if (request.headers.authorization !== `Bearer ${options.token}`) {
      return error(
        401,
        'api.context.session_expired.app_error',
        'Invalid or expired session, please login again.',
      );
    }
    const { method, path } = request;
    if (method === 'GET' && path === '/api/v4/users/me')
      return { status: 200, body: { ...MATTERMOST_BOT, is_bot: true } };
    if (method === 'GET' && path === `/api/v4/users/${MATTERMOST_BOT.id}/channels`)
      return { status: 200, body: channels() };
    if (method === 'GET' && path === '/api/v4/users/me/teams')
      return { status: 200, body: [{ id: TEAM, name: 'example' }] };
    if (path === '/api/v4/users/me/typing' && method === 'POST') return type(request);
    if (/^\/api\/v4\/commands(\/|$)/.test(path)) return command(request);
    const [, file] = /^\/api\/v4\/files\/([a-z0-9]{26})$/.exec(path) ?? [];
    if (method === 'GET' && file !== undefined) {
      const content = files.get(file);
      return content === undefined
        ? error(404, 'app.file_info.get.app_error', 'Unable to get the file info.')
        : { status: 200, body: content, headers: { 'content-type': 'application/octet-stream' } };
    }
    if (method === 'POST' && path === '/api/v4/files') return upload(request);
    if (method === 'POST' && path === '/api/v4/posts') return create(request);
    const [, id, action] = /^\/api\/v4\/posts\/([^/]+)\/(patch|thread)$/.exec(path) ?? [];
    if (method === 'PUT' && id !== undefined && action === 'patch') return patch(request, id);
    if (method === 'GET' && id !== undefined && action === 'thread') {
      return list(posts.filter((post) => post.id === id || post.rootId === id));
    }
    const [, one] = /^\/api\/v4\/posts\/([a-z0-9]{26})$/.exec(path) ?? [];
    if (method === 'GET' && one !== undefined) {
      const post = posts.find((candidate) => candidate.id === one);
      return post === undefined
        ? error(404, 'app.post.get.app_error', 'Unable to get the post.')
        : { status: 200, body: view(post) };
    }
    const [, channel] = /^\/api\/v4\/channels\/([^/]+)\/posts$/.exec(path) ?? [];
    if (method === 'GET' && channel !== undefined) {
      const since = Number(request.query.get('since') ?? 0);
      return list(posts.filter((post) => post.channelId === channel && post.updatedAt >= since));
    }
    return error(404, 'api.context.404.app_error', 'Sorry, we could not find the page.');
  }

  function channels(): unknown {
    const ids = [...new Set(posts.map(({ channelId }) => channelId))];
    return ids.map((id) => ({
      id,
      type: typeOf(id),
      team_id: TEAM,
      last_post_at: Math.max(
        ...posts.filter(({ channelId }) => channelId === id).map((one) => one.createdAt),
      ),
    }));
  }

  function type({ body }: PlatformRequest): PlatformAnswer {
    const { channel_id: channel, parent_id: root, ...more } = (body ?? {}) as Record<string, unknown>;
    if (typeof channel !== 'string' || !ID.test(channel) || Object.keys(more).length > 0)
      throw new Malformed('typing', error(400, 'api.context.invalid_body_param.app_error', 'channel_id'));
    typing.push(`${channel}/${root ?? ''}`);
    return { status: 200, body: { status: 'OK' } };
  }

  function command({ method, path, body, query }: PlatformRequest): PlatformAnswer {
    if (!mayAddCommands)
      return error(403, 'api.context.permissions.app_error', 'You do not have the appropriate permissions.');
    if (method === 'GET')
      return { status: 200, body: commands.filter((one) => one.team_id === query.get('team_id')) };
    const given = (body ?? {}) as Record<string, unknown>;
    if (given.team_id !== TEAM || typeof given.trigger !== 'string' || /^\/|\s/.test(given.trigger))
      throw new Malformed(
        'command',
        error(400, 'model.command.is_valid.trigger.app_error', 'Invalid trigger'),
      );
    if (given.method !== 'P' && given.method !== 'G')
      throw new Malformed('method', error(400, 'model.command.is_valid.method.app_error', 'Invalid Method'));
    if (method === 'PUT') {
      const old = commands.find(({ id }) => path === `/api/v4/commands/${String(id)}`);
      return old === undefined
        ? error(404, 'app.command.getcommand.internal_error', 'no such command')
        : { status: 200, body: Object.assign(old, given, { id: old.id, token: old.token }) };
    }
    if (commands.some(({ trigger }) => trigger === given.trigger))
      return error(400, 'api.command.duplicate_trigger.app_error', 'This trigger word is already in use.');
    made += 1;
    const added = {
      ...given,
      id: `command${String(made).padStart(19, '0')}`,
      token: `token${String(made).padStart(21, '0')}`,
    };
    commands.push(added);
    return { status: 201, body: added };
  }

  /** @throws Malformed for buttons that the server refuses, or would never show */
  function checkedProps(body: Record<string, unknown>): Readonly<Record<string, unknown>> {
    const props = (body.props ?? {}) as Record<string, unknown>;
    const wrong = (what: string) =>
      new Malformed(what, error(400, 'model.post.is_valid.props.app_error', what));
    for (const { actions } of attachmentsIn(props)) {
      for (const { id, name, type: kind, style, integration } of actions) {
        if (!/^[A-Za-z0-9]+$/.test(id)) throw wrong(`the id of an action: ${id}`);
        if (name === '' || kind !== 'button') throw wrong('a button without a name');
        if (!['default', 'primary', 'danger', undefined].includes(style)) throw wrong(`style ${style}`);
        if (!URL.canParse(integration.url) || !/^https?:/.test(integration.url))
          throw wrong('integration.url');
      }
    }
    return props;
  }

  function clickBody(postId: string, label: string, userId: string): Record<string, unknown> {
    const post = must(posts.find(({ id }) => id === postId));
    const action = must(actionsOf(post).find(({ name }) => name === label));
    made += 1;
    return {
      user_id: userId,
      user_name: `name-of-${userId.slice(0, 6)}`,
      channel_id: post.channelId,
      channel_name: 'town-square',
      team_id: TEAM,
      team_domain: 'example',
      post_id: postId,
      trigger_id: Buffer.from(`trigger${made}:${userId}:1:sig`).toString('base64'),
      type: 'button',
      data_source: '',
      context: action.integration.context,
    };
  }

  /** https://developers.mattermost.com/api-documentation/#/operations/UploadFile */
  async function upload({ headers, bytes }: PlatformRequest): Promise<PlatformAnswer> {
    const type = headers['content-type'] ?? '';
    const invalid = (what: string) =>
      new Malformed(what, error(400, 'api.file.upload_file.read_request.app_error', what));
    if (!type.startsWith('multipart/form-data; boundary=')) throw invalid('content-type');
    const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData();
    const [channelId, file] = [form.get('channel_id'), form.get('files')];
    if (typeof channelId !== 'string' || !ID.test(channelId)) throw invalid('channel_id');
    if (file === null || typeof file === 'string' || file.size === 0) throw invalid('files');
    made += 1;
    const id = `file${String(made).padStart(22, '0')}`;
    const kept = {
      channelId,
      name: file.name,
      type: file.type,
      bytes: Buffer.from(await file.arrayBuffer()),
    };
    uploads.set(id, kept);
    return { status: 201, body: { file_infos: [{ id, name: file.name, size: file.size }], client_ids: [] } };
  }

  /** A file is of one post, in the channel for which it was uploaded. */
  function filesOf({ file_ids: ids = [], channel_id: channel }: Record<string, unknown>): MattermostUpload[] {
    return (ids as string[]).map((id) => {
      const file = uploads.get(id);
      if (file?.channelId === channel && file !== undefined) return file;
      throw new Malformed(`file ${id}`, error(400, 'api.post.create_post.attach_files.error', 'file_ids'));
    });
  }

  function create(request: PlatformRequest): PlatformAnswer {
    const body = (request.body ?? {}) as Record<string, unknown>;
    const named = filesOf(body);
    // Beside a file a post needs no text.
    const message = named.length > 0 && body.message === '' ? '' : messageOf(body);
    if (typeof body.channel_id !== 'string' || !ID.test(body.channel_id)) {
      throw new Malformed('channel_id', error(400, 'api.context.invalid_body_param.app_error', 'channel_id'));
    }
    if (body.channel_id.startsWith('nochannel')) {
      return error(403, 'api.context.permissions.app_error', 'You do not have the appropriate permissions.');
    }
    const rootId = body.root_id ?? '';
    if (typeof rootId !== 'string' || (rootId !== '' && !ID.test(rootId))) {
      throw new Malformed('root_id', error(400, 'api.post.create_post.root_id.app_error', 'Invalid RootId'));
    }
    const pendingId = body.pending_post_id;
    const known = typeof pendingId === 'string' ? pending.get(pendingId) : undefined;
    if (known !== undefined) return { status: 201, body: view(must(posts.find(({ id }) => id === known))) };
    const post = add({
      userId: MATTERMOST_BOT.id,
      channelId: body.channel_id,
      rootId,
      message,
      props: checkedProps(body),
      files: named,
    });
    for (const id of (body.file_ids ?? []) as string[]) uploads.delete(id);
    announce(post);
    if (typeof pendingId === 'string' && pendingId !== '') pending.set(pendingId, post.id);
    return { status: 201, body: view(post) };
  }

  function patch(request: PlatformRequest, id: string): PlatformAnswer {
    const post = posts.find((one) => one.id === id);
    if (post === undefined) return error(404, 'app.post.get.app_error', 'Unable to get the post.');
    const body = (request.body ?? {}) as Record<string, unknown>;
    post.message = messageOf(body);
    if (body.props !== undefined) post.props = checkedProps(body);
    post.updatedAt = Date.now();
    return { status: 200, body: view(post) };
  }

  function messageOf(body: Record<string, unknown>): string {
    if (typeof body.message !== 'string' || !/[^\s\p{Cf}]/u.test(body.message)) {
      throw new Malformed('message', error(400, 'api.context.invalid_body_param.app_error', 'message'));
    }
    if ([...body.message].length > MOST_RUNES) {
      throw new Malformed(
        'message too long',
        error(400, 'model.post.is_valid.message_length.app_error', 'too long'),
      );
    }
    return body.message;
  }

  function announce(post: MattermostPost, more: Readonly<Record<string, unknown>> = {}): void {
    socket.send('posted', {
      channel_display_name: 'Town Square',
      channel_id: post.channelId,
      channel_name: 'town-square',
      channel_type: typeOf(post.channelId),
      post: JSON.stringify({ ...(view(post) as object), ...more }),
      sender_name: `@name-of-${post.userId.slice(0, 6)}`,
      set_online: true,
      team_id: TEAM,
    });
  }

  const standIn = await startStandIn({
    isMessage: ({ method, path }) => method !== 'GET' && /\/posts(\/|$)/.test(path),
    answer,
    webSockets: socket.endpoint,
  });
  return {
    ...standIn,
    get problems() {
      return [...standIn.problems, ...problems];
    },
    posts,
    socket,
    typing,
    commands,
    say({ channelId, userId, text, rootId = '', unheard }, more) {
      const post = add({ userId, channelId, rootId, message: text, props: {} });
      if (unheard === undefined) announce(post, more);
      return post;
    },
    buttonsOf: (postId) => actionsOf(must(posts.find(({ id }) => id === postId))).map(({ name }) => name),
    clickBody,
    async click(postId, label, userId) {
      const post = must(posts.find(({ id }) => id === postId));
      const { url } = must(actionsOf(post).find(({ name }) => name === label)).integration;
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify(clickBody(postId, label, userId)),
      });
      return { status: response.status, body: await response.json() };
    },
    addFile: (id, content) => void files.set(id, content),
    allowCommands() {
      mayAddCommands = true;
    },
    forgetPending: () => pending.clear(),
    addPosts(channelId, messages) {
      for (const message of messages)
        add({ userId: 'somebody000000000000000001', channelId, rootId: '', message, props: {} });
    },
  };
}

function list(posts: readonly MattermostPost[]): PlatformAnswer {
  return {
    status: 200,
    body: {
      order: posts.map(({ id }) => id).reverse(),
      posts: Object.fromEntries(posts.map((post) => [post.id, view(post)])),
      next_post_id: '',
      prev_post_id: '',
    },
  };
}

function view(post: MattermostPost): unknown {
  return {
    id: post.id,
    create_at: post.createdAt,
    update_at: post.updatedAt,
    delete_at: 0,
    user_id: post.userId,
    channel_id: post.channelId,
    root_id: post.rootId,
    message: post.message,
    type: '',
    props: withoutIntegrations(post.props),
    file_ids: [],
    hashtags: '',
    pending_post_id: '',
    metadata: {},
  };
}

interface Action {
  readonly id: string;
  readonly name: string;
  readonly type?: string;
  readonly style?: string;
  readonly integration: { readonly url: string; readonly context: Readonly<Record<string, unknown>> };
}

function attachmentsIn(props: Readonly<Record<string, unknown>>): readonly { actions: readonly Action[] }[] {
  return (props.attachments ?? []) as { actions: readonly Action[] }[];
}

function actionsOf({ props }: MattermostPost): readonly Action[] {
  return attachmentsIn(props).flatMap(({ actions }) => actions);
}

/** The server shows them to nobody. */
function withoutIntegrations(props: Readonly<Record<string, unknown>>): unknown {
  if (props.attachments === undefined) return props;
  const attachments = attachmentsIn(props).map((one) => ({
    ...one,
    actions: one.actions.map(({ integration: _, ...action }) => action),
  }));
  return { ...props, attachments };
}

/** `D`: a conversation of two. */
function typeOf(channelId: string): 'D' | 'O' {
  return channelId.startsWith(DIRECT) ? 'D' : 'O';
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('gone');
  return value;
}
