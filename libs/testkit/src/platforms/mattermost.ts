import {
  Malformed,
  type PlatformAnswer,
  type PlatformRequest,
  type StandIn,
  startStandIn,
} from './stand-in.ts';

interface MattermostPost {
  readonly id: string;
  readonly channelId: string;
  readonly rootId: string;
  message: string;
  readonly props: Readonly<Record<string, unknown>>;
  readonly createdAt: number;
  updatedAt: number;
}

export interface MattermostStandIn extends StandIn {
  readonly posts: readonly MattermostPost[];
  /** Forgets the pending post ids, as a restart does. Mattermost keeps them for 30 s in the memory of one process. */
  forgetPending(): void;
  addPosts(channelId: string, messages: readonly string[]): void;
}

/** PostMessageMaxRunesV2. */
const MOST_RUNES = 16_383;
const ID = /^[a-z0-9]{26}$/;

/** The post part of Mattermost's API v4. Every channel exists except `nochannel0000000000000000x`. */
export async function startMattermost(options: { readonly token: string }): Promise<MattermostStandIn> {
  const posts: MattermostPost[] = [];
  const pending = new Map<string, string>();
  let made = 0;
  const error = (status: number, id: string, message: string): PlatformAnswer => ({
    status,
    body: { id, message, detailed_error: '', request_id: 'r', status_code: status },
  });
  const add = (post: Omit<MattermostPost, 'id' | 'createdAt' | 'updatedAt'>): MattermostPost => {
    made += 1;
    const at = Date.now();
    const one = { ...post, id: `post${String(made).padStart(22, '0')}`, createdAt: at, updatedAt: at };
    posts.push(one);
    return one;
  };

  function answer(request: PlatformRequest): PlatformAnswer {
    if (request.headers.authorization !== `Bearer ${options.token}`) {
      return error(
        401,
        'api.context.session_expired.app_error',
        'Invalid or expired session, please login again.',
      );
    }
    const { method, path } = request;
    if (method === 'GET' && path === '/api/v4/users/me')
      return { status: 200, body: { id: 'me', username: 'stand-in' } };
    if (method === 'POST' && path === '/api/v4/posts') return create(request);
    const [, id, action] = /^\/api\/v4\/posts\/([^/]+)\/(patch|thread)$/.exec(path) ?? [];
    if (method === 'PUT' && id !== undefined && action === 'patch') return patch(request, id);
    if (method === 'GET' && id !== undefined && action === 'thread') {
      return list(posts.filter((post) => post.id === id || post.rootId === id));
    }
    const [, channel] = /^\/api\/v4\/channels\/([^/]+)\/posts$/.exec(path) ?? [];
    if (method === 'GET' && channel !== undefined) {
      const since = Number(request.query.get('since') ?? 0);
      return list(posts.filter((post) => post.channelId === channel && post.updatedAt >= since));
    }
    return error(404, 'api.context.404.app_error', 'Sorry, we could not find the page.');
  }

  function create(request: PlatformRequest): PlatformAnswer {
    const body = (request.body ?? {}) as Record<string, unknown>;
    const message = messageOf(body);
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
      channelId: body.channel_id,
      rootId,
      message,
      props: (body.props ?? {}) as Record<string, unknown>,
    });
    if (typeof pendingId === 'string' && pendingId !== '') pending.set(pendingId, post.id);
    return { status: 201, body: view(post) };
  }

  function patch(request: PlatformRequest, id: string): PlatformAnswer {
    const post = posts.find((one) => one.id === id);
    if (post === undefined) return error(404, 'app.post.get.app_error', 'Unable to get the post.');
    post.message = messageOf((request.body ?? {}) as Record<string, unknown>);
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

  const standIn = await startStandIn({ isMessage: ({ method }) => method !== 'GET', answer });
  return {
    ...standIn,
    posts,
    forgetPending: () => pending.clear(),
    addPosts(channelId, messages) {
      for (const message of messages) add({ channelId, rootId: '', message, props: {} });
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
    user_id: 'bot',
    channel_id: post.channelId,
    root_id: post.rootId,
    message: post.message,
    type: '',
    props: post.props,
  };
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('gone');
  return value;
}
