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
  /** Every event, including edits. */
  readonly events: readonly MatrixEvent[];
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

/**
 * The sending part of a homeserver's client-server API. The user is in every room except `!forbidden:hs.test`. The alias
 * `#ops:hs.test` stands for `!ops:hs.test`.
 */
export async function startMatrix(options: { readonly token: string }): Promise<MatrixStandIn> {
  const events: MatrixEvent[] = [];
  const transactions = new Map<string, string>();
  const error = (status: number, errcode: string, text: string): PlatformAnswer => ({
    status,
    body: { errcode, error: text },
  });

  function answer(request: PlatformRequest): PlatformAnswer {
    if (request.headers.authorization !== `Bearer ${options.token}`) {
      return error(401, 'M_UNKNOWN_TOKEN', 'Unrecognised access token');
    }
    if (request.path === '/_matrix/client/v3/account/whoami')
      return { status: 200, body: { user_id: '@stand-in:hs.test' } };
    const parts = request.path.split('/').map(decodeURIComponent);
    const [, alias] = /^\/_matrix\/client\/v3\/directory\/room\/([^/]+)$/.exec(request.path) ?? [];
    if (request.method === 'GET' && alias !== undefined) {
      return decodeURIComponent(alias) === '#ops:hs.test'
        ? { status: 200, body: { room_id: '!ops:hs.test', servers: ['hs.test'] } }
        : error(404, 'M_NOT_FOUND', 'Room alias not found');
    }
    const [, , , version, rooms, roomId = '', action, type, transaction = ''] = parts;
    if (request.method !== 'PUT' || version !== 'v3' || rooms !== 'rooms' || action !== 'send') {
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
    return { status: 200, body: { event_id: id } };
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
      if (part.msgtype !== 'm.text' && part.msgtype !== 'm.notice') throw refuse(`msgtype ${part.msgtype}`);
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

  const standIn = await startStandIn({ isMessage: ({ method }) => method === 'PUT', answer });
  return { ...standIn, events };
}
