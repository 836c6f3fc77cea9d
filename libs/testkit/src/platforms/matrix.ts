import { matrixRooms } from './matrix-rooms.ts';
import {
  Malformed,
  type PlatformAnswer,
  type PlatformRequest,
  type StandIn,
  startStandIn,
} from './stand-in.ts';

interface MatrixEvent {
  readonly id: string;
  readonly roomId: string;
  readonly content: Readonly<Record<string, unknown>>;
}

export interface MatrixStandIn extends StandIn {
  /** What the bot wrote, including edits. */
  readonly events: readonly MatrixEvent[];
  /** By their `mxc:` address. */
  readonly uploads: ReadonlyMap<
    string,
    { readonly name: string; readonly type: string; readonly bytes: Buffer }
  >;
  /** Rooms in which the bot is shown as typing. */
  readonly typing: readonly string[];
  /** The user of the token. */
  readonly user: string;
  /** Makes a room with these people in it, and the bot unless `invited` is set: then somebody has only invited it. */
  room(id: string, people: readonly string[], options?: { readonly invitedBy?: string }): void;
  /** A person writes. Returns the event's id. */
  write(room: string, sender: string, content: string | Readonly<Record<string, unknown>>): string;
  /** Anything else happens in a room. Returns the event's id. */
  happen(
    room: string,
    sender: string,
    type: string,
    content: Readonly<Record<string, unknown>>,
    stateKey?: string,
  ): string;
  isJoined(room: string): boolean;
}

/** "The complete event MUST NOT be larger than 65536 bytes": what the server adds (ids, hashes, signatures) counts too. */
const MOST_BYTES = 65_536;
const SERVER_PART_BYTES = 2_048;
/** The tags that clients should render ("m.room.message msgtypes", org.matrix.custom.html), and `br`. */
const TAGS = new Set(
  'del h1 h2 h3 h4 h5 h6 blockquote p a ul ol sup sub li b i u strong em s code hr br div table thead tbody tr th td caption pre span img details summary'.split(
    ' ',
  ),
);

/** More than the longest wait of a client is a mistake. */
const LONGEST_POLL_MS = 60_000;

/**
 * The parts of a homeserver's client-server API that a bot uses. The user may write in every room except `!forbidden:hs.test`. The alias
 * `#ops:hs.test` stands for `!ops:hs.test`.
 */
export async function startMatrix(options: {
  readonly token: string;
  readonly user?: string;
  readonly port?: number;
}): Promise<MatrixStandIn> {
  const user = options.user ?? '@stand-in:hs.test';
  const events: MatrixEvent[] = [];
  const typing: string[] = [];
  const uploads = new Map<string, { name: string; type: string; bytes: Buffer }>();
  const rooms = matrixRooms();
  let said = 0;
  let stopped = false;
  const transactions = new Map<string, string>();
  const error = (status: number, errcode: string, text: string): PlatformAnswer => ({
    status,
    body: { errcode, error: text },
  });

  function answer(request: PlatformRequest): PlatformAnswer | Promise<PlatformAnswer> {
    if (request.headers.authorization !== `Bearer ${options.token}`) {
      return error(401, 'M_UNKNOWN_TOKEN', 'Unrecognised access token');
    }
    if (request.path === '/_matrix/client/v3/account/whoami') return { status: 200, body: { user_id: user } };
    if (request.path === '/_matrix/media/v3/upload') return upload(request);
    if (request.path === '/_matrix/client/v3/sync') return sync(request);
    if (request.path.startsWith('/_matrix/client/v1/media/download/hs.test/')) {
      return { status: 200, body: `file ${request.path}`, headers: { 'content-type': 'image/png' } };
    }
    const parts = request.path.split('/').map(decodeURIComponent);
    const [, alias] = /^\/_matrix\/client\/v3\/directory\/room\/([^/]+)$/.exec(request.path) ?? [];
    if (request.method === 'GET' && alias !== undefined) {
      return decodeURIComponent(alias) === '#ops:hs.test'
        ? { status: 200, body: { room_id: '!ops:hs.test', servers: ['hs.test'] } }
        : error(404, 'M_NOT_FOUND', 'Room alias not found');
    }
    const [, , , version, of, roomId = '', action, type, transaction = ''] = parts;
    if (version !== 'v3' || of !== 'rooms') return error(404, 'M_UNRECOGNIZED', 'Unrecognized request');
    if (action !== 'send') return inRoom(request, roomId, action, type);
    if (request.method !== 'PUT') {
      return error(404, 'M_UNRECOGNIZED', 'Unrecognized request');
    }
    if (type !== 'm.room.message') throw new Malformed(`type ${type}`, error(400, 'M_UNKNOWN', 'type'));
    if (!/^![^:]+(:.+)?$/.test(roomId))
      throw new Malformed(`room ${roomId}`, error(400, 'M_INVALID_PARAM', 'room'));
    if (transaction === '') throw new Malformed('no transaction id', error(404, 'M_UNRECOGNIZED', 'txn'));
    if (roomId === '!forbidden:hs.test')
      return error(403, 'M_FORBIDDEN', `User @bot:hs.test not in room ${roomId}`);
    const known = transactions.get(`${roomId} ${transaction}`);
    if (known !== undefined) return { status: 200, body: { event_id: known } };
    const content = checked(request);
    const id = `$event${events.length + 1}`;
    transactions.set(`${roomId} ${transaction}`, id);
    events.push({ id, roomId, content });
    rooms.add(roomId, { event_id: id, type: 'm.room.message', sender: user, content });
    return { status: 200, body: { event_id: id } };
  }

  /** https://spec.matrix.org/latest/client-server-api/#post_matrixmediav3upload */
  function upload({ method, query, headers, bytes }: PlatformRequest): PlatformAnswer {
    if (method !== 'POST') return error(405, 'M_UNRECOGNIZED', 'Unrecognized request');
    const address = `mxc://hs.test/upload${uploads.size + 1}`;
    uploads.set(address, {
      name: query.get('filename') ?? '',
      type: headers['content-type'] ?? 'application/octet-stream',
      bytes,
    });
    return { status: 200, body: { content_uri: address } };
  }

  /** https://spec.matrix.org/latest/client-server-api/#get_matrixclientv3sync */
  async function sync({ query }: PlatformRequest): Promise<PlatformAnswer> {
    const invalid = (what: string) => new Malformed(what, error(400, 'M_INVALID_PARAM', what));
    const { types, limit } = timelineOf(query, invalid);
    const timeout = Number(query.get('timeout') ?? '0');
    if (!(timeout >= 0 && timeout <= LONGEST_POLL_MS)) throw invalid('timeout');
    const until = performance.now() + timeout;
    const since = query.get('since');
    for (;;) {
      const body = rooms.sync(user, since, types, limit);
      if (body !== null) return { status: 200, body };
      const left = until - performance.now();
      if (left <= 0 || stopped) return { status: 200, body: { next_batch: since } };
      await rooms.wait(left);
    }
  }

  function timelineOf(query: URLSearchParams, invalid: (what: string) => Malformed) {
    const filter = parsedFilter(query.get('filter')) as {
      room?: { timeline?: { types?: unknown; limit?: unknown } };
    } | null;
    const { types, limit } = filter?.room?.timeline ?? {};
    if (!Array.isArray(types) || typeof limit !== 'number' || limit < 1) throw invalid('filter');
    return { types: types as string[], limit };
  }

  function inRoom(request: PlatformRequest, room: string, action = '', last = ''): PlatformAnswer {
    const { method, query } = request;
    const isIn = rooms.membership(room, user) === 'join';
    const forbidden = error(403, 'M_FORBIDDEN', `User ${user} not in room ${room}`);
    switch (`${method} ${action}`) {
      case 'POST join': {
        if (rooms.membership(room, user) === null) return forbidden;
        if (!isIn) happen(room, user, 'm.room.member', { membership: 'join' }, user);
        return { status: 200, body: { room_id: room } };
      }
      case 'GET joined_members': {
        if (!isIn) return forbidden;
        const people = rooms.joined(room).map((id) => [id, { display_name: nameIn(id), avatar_url: null }]);
        return { status: 200, body: { joined: Object.fromEntries(people) } };
      }
      case 'GET messages': {
        if (!isIn) return forbidden;
        const { types } = (parsedFilter(query.get('filter')) ?? {}) as { types?: string[] };
        const limit = Number(query.get('limit') ?? '10');
        const from = query.get('from');
        if (query.get('dir') !== 'b' || from === null || types === undefined) {
          throw new Malformed('messages', error(400, 'M_INVALID_PARAM', 'dir, from, filter'));
        }
        return { status: 200, body: rooms.messages(room, from, query.get('to'), types, limit) };
      }
      case 'PUT typing': {
        const { typing: is, timeout } = (request.body ?? {}) as { typing?: unknown; timeout?: unknown };
        if (last !== user) return error(403, 'M_FORBIDDEN', 'Cannot set the typing state of others');
        if (typeof is !== 'boolean' || (is && typeof timeout !== 'number')) {
          throw new Malformed('typing', error(400, 'M_BAD_JSON', 'typing'));
        }
        if (is) typing.push(room);
        return { status: 200, body: {} };
      }
      default:
        return error(404, 'M_UNRECOGNIZED', 'Unrecognized request');
    }
  }

  function happen(
    room: string,
    sender: string,
    type: string,
    content: Readonly<Record<string, unknown>>,
    stateKey?: string,
  ): string {
    said += 1;
    const id = `$said${said}`;
    rooms.add(room, {
      event_id: id,
      type,
      sender,
      content,
      // By the clock of whoever sent it, so it can be anything.
      unsigned: { age: 9_000_000_000 },
      ...(stateKey === undefined ? {} : { state_key: stateKey }),
    });
    return id;
  }

  function checked(request: PlatformRequest): Record<string, unknown> {
    const content = request.body as Record<string, unknown> | undefined;
    const refuse = (problem: string) => new Malformed(problem, error(400, 'M_BAD_JSON', problem));
    if (content === undefined || typeof content !== 'object') throw refuse('no JSON object');
    if (Buffer.byteLength(request.raw) + SERVER_PART_BYTES > MOST_BYTES) {
      throw new Malformed('too large', error(413, 'M_TOO_LARGE', 'event too large'));
    }
    const replaced = content['m.new_content'] as Record<string, unknown> | undefined;
    for (const part of replaced === undefined ? [content] : [content, replaced]) {
      if (typeof part.body !== 'string') throw refuse('body');
      if (part.msgtype === 'm.file') checkFile(part, refuse);
      else if (part.msgtype !== 'm.text' && part.msgtype !== 'm.notice')
        throw refuse(`msgtype ${part.msgtype}`);
      if (typeof part['m.mentions'] !== 'object') throw refuse('m.mentions');
      if (part.formatted_body === undefined) continue;
      if (part.format !== 'org.matrix.custom.html') throw refuse('format');
      for (const [, tag = ''] of String(part.formatted_body).matchAll(/<\/?([a-z0-9]+)/gi)) {
        if (!TAGS.has(tag)) throw refuse(`tag ${tag}`);
      }
    }
    const relation = content['m.relates_to'] as Record<string, unknown> | undefined;
    if (relation !== undefined && relation.rel_type !== 'm.thread' && relation.rel_type !== 'm.replace') {
      throw refuse('m.relates_to');
    }
    if (relation?.rel_type === 'm.replace' && replaced === undefined) throw refuse('m.new_content');
    return content;
  }

  /** https://spec.matrix.org/latest/client-server-api/#mfile */
  function checkFile(part: Record<string, unknown>, refuse: (problem: string) => Malformed): void {
    const file = uploads.get(String(part.url));
    const { mimetype, size } = (part.info ?? {}) as { mimetype?: unknown; size?: unknown };
    if (file === undefined) throw refuse(`url ${part.url}`);
    if (part.filename !== file.name || mimetype !== file.type || size !== file.bytes.length)
      throw refuse('filename or info');
  }

  const standIn = await startStandIn(
    { isMessage: ({ method, path }) => method === 'PUT' && path.includes('/send/'), answer },
    options.port,
  );
  return {
    ...standIn,
    events,
    uploads,
    typing,
    user,
    room(id, people, { invitedBy } = {}) {
      for (const person of people) happen(id, person, 'm.room.member', { membership: 'join' }, person);
      if (invitedBy === undefined) happen(id, user, 'm.room.member', { membership: 'join' }, user);
      else happen(id, invitedBy, 'm.room.member', { membership: 'invite' }, user);
    },
    write: (room, sender, content) =>
      happen(
        room,
        sender,
        'm.room.message',
        typeof content === 'string' ? { msgtype: 'm.text', body: content, 'm.mentions': {} } : content,
      ),
    happen,
    isJoined: (room) => rooms.membership(room, user) === 'join',
    stop() {
      stopped = true;
      rooms.stop();
      return standIn.stop();
    },
  };
}

/** `@anna:hs.test` is called Anna. */
function nameIn(user: string): string {
  const name = user.replace(/^@([^:]+):.*$/, '$1');
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function parsedFilter(filter: string | null): unknown {
  try {
    return JSON.parse(filter ?? 'null');
  } catch {
    return null;
  }
}
