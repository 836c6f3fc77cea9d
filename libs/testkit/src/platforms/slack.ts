import { type SlackSocketMode, startSocketMode } from './slack-socket-mode.ts';
import { SLACK_BOT, SLACK_TEAM, slackTs } from './slack-updates.ts';
import {
  Malformed,
  type PlatformAnswer,
  type PlatformRequest,
  type StandIn,
  startStandIn,
} from './stand-in.ts';

interface SlackMessage {
  readonly ts: string;
  readonly channel: string;
  readonly threadTs: string | null;
  text: string;
  /** The text of the block. Null: no block was sent. */
  block: string | null;
  metadata: unknown;
  /** The buttons under it. */
  buttons: readonly SlackButton[];
  edits: number;
  /** Who wrote it. Left out: the bot. */
  readonly user?: string;
}

interface SlackButton {
  readonly label: string;
  readonly value: string;
  readonly style: string | null;
}

interface SlackEphemeral {
  readonly channel: string;
  readonly user: string;
  readonly text: string;
  readonly threadTs: string | null;
}

/** A file that was uploaded and shared. */
interface SlackSharedFile {
  readonly channel: string;
  readonly threadTs: string | null;
  readonly name: string;
  readonly title: string;
  readonly comment: string | null;
  readonly bytes: Buffer;
}

export interface SlackStandIn extends StandIn {
  readonly sharedFiles: readonly SlackSharedFile[];
  readonly messages: readonly SlackMessage[];
  /** What only one user was shown. */
  readonly ephemerals: readonly SlackEphemeral[];
  /** Only with an `appToken`. */
  readonly socketMode: SlackSocketMode;
  /** Puts a file up. With an address, Slack says that it keeps it there. */
  addFile(id: string, content: string, address?: string): void;
  shownIn(channel: string): string[];
  /** The scopes of the bot's token, as a header of `auth.test` says. */
  grant(scopes: readonly string[]): void;
  /** From now on blocks with markup are answered with `invalid_blocks`. */
  refuseBlocks(): void;
  /** From now on reading the channel is answered with this error (`missing_scope`). */
  refuseHistory(error: string, times?: number): void;
  /** Adds a message of somebody else. */
  addMessages(channel: string, count: number): void;
  delete(ts: string): void;
  /** Somebody writes while nobody hears it. Returns its `ts`. */
  writeUnheard(said: {
    readonly channel: string;
    readonly user: string;
    readonly text: string;
    readonly thread_ts?: string | null;
  }): string;
}

const MOST_IN_A_SECTION = 3_000;
/** "For best results, limit the number of characters in the text field to 4,000 characters." */
const MOST_IN_TEXT = 4_000;
const KEYS: Readonly<Record<string, ReadonlySet<string>>> = {
  'chat.postMessage': new Set([
    'channel',
    'text',
    'blocks',
    'thread_ts',
    'parse',
    'link_names',
    'mrkdwn',
    'metadata',
    'unfurl_links',
    'unfurl_media',
  ]),
  'chat.postEphemeral': new Set(['channel', 'user', 'text', 'parse', 'link_names', 'thread_ts']),
  'chat.update': new Set(['channel', 'ts', 'text', 'blocks', 'parse', 'link_names', 'mrkdwn', 'metadata']),
};
/** https://docs.slack.dev/reference/block-kit/block-elements/button-element and .../blocks/actions-block. */
const MOST_BUTTONS = 25;
const MOST_IN_A_LABEL = 75;
const MOST_IN_AN_ID = 255;
const MOST_IN_A_VALUE = 2_000;
const NAMES: Readonly<Record<string, string>> = { general: 'C0GENERAL' };

/**
 * The message part of Slack's Web API (https://docs.slack.dev/reference/methods), under `/api`. Every channel exists except
 * `C404` (not found) and `C403` (the bot is not in it). The only known name is `#general`.
 */
export async function startSlack(options: {
  readonly token: string;
  /** Of Socket Mode (`xapp-`). */
  readonly appToken?: string;
}): Promise<SlackStandIn> {
  const messages: SlackMessage[] = [];
  const ephemerals: SlackEphemeral[] = [];
  const uploads = new Map<string, { readonly name: string; readonly length: number; bytes: Buffer | null }>();
  const sharedFiles: SlackSharedFile[] = [];
  const files = new Map<string, { readonly content: string; readonly address: string | null }>();
  const problems: string[] = [];
  const socketMode =
    options.appToken === undefined ? null : await startSocketMode((what) => problems.push(what));
  let scopes: readonly string[] = [];
  let blocksRefused = false;
  let historyError: string | null = null;
  let historyErrors = 0;
  const ok = (body: Record<string, unknown>): PlatformAnswer => ({
    status: 200,
    body: { ok: true, ...body },
  });
  const no = (error: string, more: Record<string, unknown> = {}): PlatformAnswer => ({
    status: 200,
    body: { ok: false, error, ...more },
  });
  const invalid = (what: string) =>
    new Malformed(what, no('invalid_arguments', { response_metadata: { messages: [`[ERROR] ${what}`] } }));
  const add = (message: Omit<SlackMessage, 'ts' | 'edits'>): SlackMessage => {
    const one = { ...message, ts: slackTs(), edits: 0 };
    messages.push(one);
    return one;
  };

  function answer(request: PlatformRequest): PlatformAnswer {
    const method = /^\/api\/([\w.]+)$/.exec(request.path)?.[1] ?? '';
    const { authorization } = request.headers;
    const [, uploadId] = /^\/upload\/v1\/(F\w+)$/.exec(request.path) ?? [];
    if (uploadId !== undefined) return upload(uploadId, request);
    if (authorization === undefined) return no('not_authed');
    if (method === 'apps.connections.open') {
      if (socketMode === null || authorization === `Bearer ${options.token}`)
        return no('not_allowed_token_type');
      return authorization === `Bearer ${options.appToken}`
        ? ok({ url: socketMode.newUrl() })
        : no('invalid_auth');
    }
    if (authorization !== `Bearer ${options.token}`) return no('invalid_auth');
    if (method === 'auth.test')
      return {
        status: 200,
        headers: { 'x-oauth-scopes': scopes.join(',') },
        body: {
          ...{ ok: true, user: 'stand-in', team: 'T' },
          ...{ team_id: SLACK_TEAM, user_id: SLACK_BOT },
        },
      };
    if (method === 'files.info') return fileInfo(request.query.get('file') ?? '');
    const [, id] = /^\/files-pri\/[^/]+-(F\w+)\/download\/.+$/.exec(request.path) ?? [];
    if (id !== undefined) return { status: 200, body: files.get(id)?.content ?? '' };
    if (method === 'users.conversations') return conversations(request.query);
    if (method === 'conversations.history' || method === 'conversations.replies')
      return read(method, request.query);
    if (method === 'files.getUploadURLExternal') return uploadUrl(request);
    if (method === 'files.completeUploadExternal') return share(request);
    const keys = KEYS[method];
    if (keys === undefined || request.method !== 'POST') return no('unknown_method');
    if (!/^application\/json; charset=utf-8$/.test(request.headers['content-type'] ?? ''))
      throw invalid('content-type');
    const body = (request.body ?? {}) as Record<string, unknown>;
    for (const key of Object.keys(body)) if (!keys.has(key)) throw invalid(`unknown argument ${key}`);
    if (method === 'chat.postEphemeral') return ephemeral(body);
    const said = check(body);
    return blocksRefused && JSON.stringify(body.blocks ?? '').includes('"mrkdwn"')
      ? no('invalid_blocks')
      : method === 'chat.postMessage'
        ? post(body, said)
        : update(body, said);
  }

  function fileInfo(id: string): PlatformAnswer {
    const file = files.get(id);
    if (file === undefined) return no('file_not_found');
    const address = file.address ?? `${standIn.url}/files-pri/T0123456789-${id}/download/file.txt`;
    return ok({ file: { id, name: 'file.txt', size: file.content.length, url_private: address } });
  }

  /** https://docs.slack.dev/reference/methods/files.getUploadURLExternal: a form, no JSON. */
  function uploadUrl({ method, headers, raw }: PlatformRequest): PlatformAnswer {
    if (method !== 'POST' || headers['content-type'] !== 'application/x-www-form-urlencoded')
      throw invalid('content-type');
    const form = new URLSearchParams(raw);
    for (const key of form.keys())
      if (!['filename', 'length', 'alt_txt', 'snippet_type'].includes(key)) throw invalid(`argument ${key}`);
    const [name, length] = [form.get('filename') ?? '', Number(form.get('length') ?? Number.NaN)];
    if (name === '' || !Number.isInteger(length) || length < 1) throw invalid('filename and length');
    const id = `F0UPLOAD${uploads.size + 1}`;
    uploads.set(id, { name, length, bytes: null });
    return ok({ upload_url: `${standIn.url}/upload/v1/${id}`, file_id: id });
  }

  function upload(id: string, { method, headers, bytes }: PlatformRequest): PlatformAnswer {
    const file = uploads.get(id);
    if (headers.authorization !== undefined) throw invalid('the token was sent with the upload');
    if (file === undefined || method !== 'POST') return { status: 404, body: 'not found' };
    if (bytes.length !== file.length) throw invalid(`${bytes.length} bytes instead of ${file.length}`);
    file.bytes = bytes;
    return { status: 200, body: `OK - ${bytes.length}` };
  }

  /** https://docs.slack.dev/reference/methods/files.completeUploadExternal */
  function share({ headers, body }: PlatformRequest): PlatformAnswer {
    if (headers['content-type'] !== 'application/json; charset=utf-8') throw invalid('content-type');
    const {
      files: given,
      channel_id: channel,
      thread_ts: thread,
      initial_comment: comment,
      ...more
    } = (body ?? {}) as Record<string, unknown>;
    for (const key of Object.keys(more)) throw invalid(`unknown argument ${key}`);
    if (!Array.isArray(given) || given.length !== 1) throw invalid('files');
    const { id, title } = given[0] as { readonly id?: unknown; readonly title?: unknown };
    const file = uploads.get(String(id));
    if (file === undefined || file.bytes === null) return no('file_not_found');
    if (typeof channel !== 'string' || !/^[CGD][A-Z0-9]+$/.test(channel) || channel === 'C404')
      return no('channel_not_found');
    if (channel === 'C403') return no('not_in_channel');
    if (thread !== undefined && !/^\d+\.\d+$/.test(String(thread))) throw invalid('thread_ts');
    // "This method can only be called once per upload."
    uploads.delete(String(id));
    sharedFiles.push({
      channel,
      threadTs: thread === undefined ? null : String(thread),
      name: file.name,
      title: String(title),
      comment: comment === undefined ? null : String(comment),
      bytes: file.bytes,
    });
    return ok({ files: [{ id, title }] });
  }

  function ephemeral(body: Record<string, unknown>): PlatformAnswer {
    const { channel, user, text, thread_ts: thread } = body;
    if (typeof channel !== 'string' || !/^[CDG][A-Z0-9]+$/.test(channel)) return no('channel_not_found');
    if (typeof user !== 'string' || !/^[UW][A-Z0-9]+$/.test(user)) return no('user_not_in_channel');
    if (typeof text !== 'string' || text === '') throw new Malformed('text', no('no_text'));
    ephemerals.push({ channel, user, text, threadTs: typeof thread === 'string' ? thread : null });
    return ok({ message_ts: '1502210682.580145' });
  }

  function check(
    body: Record<string, unknown>,
  ): Pick<SlackMessage, 'text' | 'block' | 'metadata' | 'buttons'> {
    const { text, blocks, metadata, parse, link_names: linkNames } = body;
    if (typeof body.channel !== 'string') throw invalid('channel');
    if (typeof text !== 'string' || text.trim() === '') throw new Malformed('text', no('no_text'));
    if (text.length > MOST_IN_TEXT) throw new Malformed(`${text.length} characters`, no('msg_too_long'));
    if (parse !== 'none' || linkNames === true) throw invalid('it looks for names to ping');
    let block: string | null = null;
    let buttons: readonly SlackButton[] = [];
    if (blocks !== undefined) {
      const [section, ...more] = blocks as { type?: unknown; text?: Record<string, unknown> }[];
      const { type } = section?.text ?? {};
      if (section?.type !== 'section' || (type !== 'mrkdwn' && type !== 'plain_text') || more.length > 1)
        throw invalid('blocks');
      if (type === 'mrkdwn' && section.text?.verbatim !== true)
        throw invalid('the block looks for names to ping');
      if (more[0] !== undefined) buttons = buttonsIn(more[0]);
      block = String(section.text?.text);
      if (block.length > MOST_IN_A_SECTION) throw invalid('must be less than 3001 characters');
    }
    const isPlain = (blocks as { text?: { type?: unknown } }[] | undefined)?.[0]?.text?.type === 'plain_text';
    for (const written of [text, isPlain ? '' : (block ?? '')]) {
      if (
        /<(?!(https?:\/\/|mailto:)[^<>|]+(\|[^<>|]+)?>)|(?<!<[^<>]*)>(?! )|&(?!amp;|lt;|gt;)/.test(written)
      ) {
        throw invalid('unescaped &, < or >');
      }
      if ((written.split('```').length - 1) % 2 !== 0) throw invalid('an open code block');
    }
    const { event_type: type, event_payload: payload } = (metadata ?? {}) as Record<string, unknown>;
    if (typeof type !== 'string' || !/^[a-z0-9_]+$/.test(type) || typeof payload !== 'object') {
      throw new Malformed('metadata', no('invalid_metadata_format'));
    }
    return { text, block, metadata, buttons };
  }

  function buttonsIn(block: Readonly<Record<string, unknown>>): SlackButton[] {
    const { type, elements } = block;
    if (type !== 'actions' || !Array.isArray(elements)) throw invalid('no actions block');
    if (elements.length === 0 || elements.length > MOST_BUTTONS) throw invalid('must have 1 to 25 elements');
    const ids = new Set<unknown>();
    return elements.map((element: Readonly<Record<string, unknown>>) => {
      const { type: kind, action_id: id, text, value, style, ...more } = element;
      if (kind !== 'button' || Object.keys(more).length > 0) throw invalid('no button');
      if (typeof id !== 'string' || id.length > MOST_IN_AN_ID || ids.has(id)) throw invalid('action_id');
      ids.add(id);
      const label = (text ?? {}) as { readonly type?: unknown; readonly text?: unknown };
      if (label.type !== 'plain_text' || typeof label.text !== 'string' || label.text === '')
        throw invalid('the text of a button is plain_text');
      if (label.text.length > MOST_IN_A_LABEL) throw invalid('must be less than 76 characters');
      if (typeof value !== 'string' || value.length > MOST_IN_A_VALUE) throw invalid('value');
      if (style !== undefined && style !== 'primary' && style !== 'danger') throw invalid('style');
      return { label: label.text, value, style: style ?? null };
    });
  }

  function post(body: Record<string, unknown>, said: ReturnType<typeof check>): PlatformAnswer {
    const given = String(body.channel);
    const channel = NAMES[given.replace(/^#/, '')] ?? given;
    if (!/^[CGDU][A-Z0-9]+$/.test(channel) || channel === 'C404') return no('channel_not_found');
    if (channel === 'C403') return no('not_in_channel');
    if (body.unfurl_links !== false || body.unfurl_media !== false) throw invalid('it unfurls');
    const thread = body.thread_ts;
    if (thread !== undefined && (typeof thread !== 'string' || !/^\d+\.\d+$/.test(thread)))
      throw invalid('thread_ts');
    const message = add({ channel, threadTs: thread ?? null, ...said });
    return ok({ channel, ts: message.ts, message: view(message, false) });
  }

  function update(body: Record<string, unknown>, said: ReturnType<typeof check>): PlatformAnswer {
    const message = messages.find(({ ts, channel }) => ts === body.ts && channel === body.channel);
    if (message === undefined) return no('message_not_found');
    Object.assign(message, said, { edits: message.edits + 1 });
    return ok({ channel: message.channel, ts: message.ts, text: message.text });
  }

  /** https://docs.slack.dev/reference/methods/users.conversations */
  function conversations(query: URLSearchParams): PlatformAnswer {
    const unknown = [...query.keys()].find(
      (key) => !['types', 'exclude_archived', 'limit', 'cursor'].includes(key),
    );
    if (unknown !== undefined) throw invalid(`unknown argument ${unknown}`);
    const types = (query.get('types') ?? 'public_channel').split(',');
    if (types.some((type) => !['public_channel', 'private_channel', 'mpim', 'im'].includes(type)))
      throw new Malformed('types', no('invalid_types'));
    const ids = [...new Set(messages.map(({ channel }) => channel))];
    return ok({ channels: ids.map((id) => ({ id, is_im: id.startsWith('D') })) });
  }

  /** What a message that opened a thread says about it. */
  function threadOf({ ts, channel }: SlackMessage): object {
    const replies = messages.filter((one) => one.channel === channel && one.threadTs === ts);
    const latest = replies.at(-1);
    return latest === undefined
      ? {}
      : { thread_ts: ts, reply_count: replies.length, latest_reply: latest.ts };
  }

  function read(method: string, query: URLSearchParams): PlatformAnswer {
    if (historyError !== null && historyErrors > 0) {
      historyErrors -= 1;
      return historyError === 'ratelimited'
        ? { ...no(historyError), status: 429, headers: { 'retry-after': '0' } }
        : no(historyError);
    }
    const channel = query.get('channel') ?? '';
    if (!/^[CGD][A-Z0-9]+$/.test(channel)) throw new Malformed('channel', no('channel_not_found'));
    const thread = query.get('ts');
    if (method === 'conversations.replies' && thread === null)
      throw new Malformed('ts', no('invalid_arguments'));
    const limit = Number(query.get('limit') ?? 100);
    if (!(limit >= 1 && limit <= 999)) throw new Malformed('limit', no('invalid_limit'));
    const oldest = Number(query.get('oldest') ?? 0);
    const matching = messages
      .filter((one) => one.channel === channel && one.threadTs === thread && Number(one.ts) > oldest)
      .reverse();
    const from = Number(query.get('cursor') ?? 0);
    const more = from + limit < matching.length;
    return ok({
      messages: matching
        .slice(from, from + limit)
        .map((one) => ({ ...threadOf(one), ...view(one, query.get('include_all_metadata') === 'true') })),
      has_more: more,
      ...(more ? { response_metadata: { next_cursor: String(from + limit) } } : {}),
    });
  }

  const standIn = await startStandIn({
    isMessage: ({ method, path }) =>
      method === 'POST' &&
      !/\/(auth\.test|apps\.connections\.open|files\.getUploadURLExternal|upload\/v1\/\w+)$/.test(path),
    answer,
  });
  return {
    ...standIn,
    get problems() {
      return [...standIn.problems, ...problems];
    },
    messages,
    sharedFiles,
    ephemerals,
    get socketMode() {
      if (socketMode === null) throw new Error('started without an appToken');
      return socketMode;
    },
    addFile(id, content, address) {
      files.set(id, { content, address: address ?? null });
    },
    async stop() {
      await socketMode?.stop();
      await standIn.stop();
    },
    shownIn: (channel) =>
      messages.filter((one) => one.channel === channel).map(({ block, text }) => block ?? text),
    grant(granted) {
      scopes = granted;
    },
    refuseBlocks() {
      blocksRefused = true;
    },
    refuseHistory(error, times = Number.POSITIVE_INFINITY) {
      historyError = error;
      historyErrors = times;
    },
    addMessages(channel, count) {
      for (let index = 0; index < count; index += 1)
        add({ channel, threadTs: null, text: 'of others', block: null, metadata: undefined, buttons: [] });
    },
    writeUnheard: ({ channel, user, text, thread_ts: threadTs = null }) =>
      add({ channel, user, text, threadTs, block: null, metadata: undefined, buttons: [] }).ts,
    delete(ts) {
      messages.splice(
        messages.findIndex((one) => one.ts === ts),
        1,
      );
    },
  };
}

function view({ ts, text, threadTs, metadata, user }: SlackMessage, withMetadata: boolean): object {
  return {
    type: 'message',
    ...(user === undefined ? { user: SLACK_BOT, bot_id: 'B0ANGELIA01' } : { user }),
    ts,
    text,
    ...(threadTs === null ? {} : { thread_ts: threadTs }),
    ...(withMetadata && metadata !== undefined ? { metadata } : {}),
  };
}
