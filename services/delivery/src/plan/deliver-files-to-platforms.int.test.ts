import { type FileAnswer, fileRequestSchema } from '@angelia/contracts';
import { type StandIn, startDiscord, startMatrix, startMattermost, startSlack } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type DeliveryFixture, HURRIED, openDeliveryFixture } from '../testing/delivery-fixture.ts';

// Files that answers name, on the platforms that take files besides Telegram (deliver-files.int.test.ts). The stand-ins check
// the documented requests.

const TOKEN = 'a-token-of-the-platform';
const CSV = Buffer.from('a,b\n1,2\n');

/** A file that people see. */
interface Seen {
  readonly name: string;
  readonly type: string | null;
  readonly bytes: Buffer;
  /** A word beside it, or null. */
  readonly mark: string | null;
}

interface Platform {
  readonly name: string;
  readonly standIn: StandIn;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly to: Readonly<Record<string, unknown>>;
  readonly files: () => readonly Seen[];
  readonly texts: () => readonly string[];
  /** A message that it refuses for good. */
  readonly refusal: { readonly status: number; readonly body: unknown };
  /** A resend makes no second copy. */
  readonly idempotent: boolean;
}

async function slack(): Promise<Platform> {
  const standIn = await startSlack({ token: TOKEN });
  return {
    name: 'slack',
    standIn,
    settings: { bot_token: TOKEN, api_base: `${standIn.url}/api` },
    to: { channel: 'C0ROOM', thread_ts: '1700000000.000100' },
    files: () =>
      standIn.sharedFiles
        .filter(({ channel, threadTs }) => channel === 'C0ROOM' && threadTs === '1700000000.000100')
        .map(({ title, bytes, comment }) => ({ name: title, type: null, bytes, mark: comment })),
    texts: () => standIn.shownIn('C0ROOM'),
    refusal: { status: 200, body: { ok: false, error: 'channel_not_found' } },
    idempotent: false,
  };
}

async function discord(): Promise<Platform> {
  const standIn = await startDiscord({ token: TOKEN });
  const written = () => standIn.messages.filter(({ channelId }) => channelId === '77');
  return {
    name: 'discord',
    standIn,
    settings: { bot_token: TOKEN, api_base: `${standIn.url}/api/v10` },
    to: { channel_id: '66', thread_id: '77' },
    files: () =>
      written().flatMap(({ file, content }) => (file === null ? [] : [{ ...file, mark: content || null }])),
    texts: () => written().flatMap(({ file, content }) => (file === null ? [content] : [])),
    refusal: { status: 413, body: { code: 40_005, message: 'Request entity too large' } },
    idempotent: true,
  };
}

async function matrix(): Promise<Platform> {
  const standIn = await startMatrix({ token: TOKEN });
  const inThread = () =>
    standIn.events.filter(
      ({ roomId, content }) =>
        roomId === '!room:hs.test' && JSON.stringify(content['m.relates_to']).includes('"$thread"'),
    );
  return {
    name: 'matrix',
    standIn,
    settings: { access_token: TOKEN, api_base: standIn.url },
    to: { room_id: '!room:hs.test', thread_id: '$thread' },
    files: () =>
      inThread().flatMap(({ content }) => {
        const file = standIn.uploads.get(String(content.url));
        return content.msgtype === 'm.file' && file !== undefined ? [{ ...file, mark: null }] : [];
      }),
    texts: () =>
      inThread().flatMap(({ content }) => (content.msgtype === 'm.file' ? [] : [String(content.body)])),
    refusal: { status: 413, body: { errcode: 'M_TOO_LARGE', error: 'too large' } },
    idempotent: true,
  };
}

async function mattermost(): Promise<Platform> {
  const standIn = await startMattermost({ token: TOKEN });
  const [channel, root] = ['channel0000000000000000001', 'root0000000000000000000001'];
  const written = () =>
    standIn.posts.filter(({ channelId, rootId }) => channelId === channel && rootId === root);
  return {
    name: 'mattermost',
    standIn,
    settings: { token: TOKEN, api_base: standIn.url },
    to: { channel_id: channel, root_id: root },
    files: () =>
      written().flatMap(({ files, message }) => files.map((file) => ({ ...file, mark: message || null }))),
    texts: () => written().flatMap(({ files, message }) => (files.length === 0 ? [message] : [])),
    refusal: {
      status: 403,
      body: { id: 'api.context.permissions.app_error', message: 'no', status_code: 403 },
    },
    idempotent: true,
  };
}

let fixture: DeliveryFixture;

beforeAll(async () => {
  fixture = await openDeliveryFixture();
});
afterAll(() => fixture?.close());

describe.each([
  ['slack', slack],
  ['discord', discord],
  ['mattermost', mattermost],
  ['matrix', matrix],
])('a file of an answer in %s', (_name, start) => {
  let platform: Platform;
  let before: number;

  beforeAll(async () => {
    platform = await start();
  });
  afterAll(async () => {
    await fixture.closeSenders();
    await platform?.standIn.stop();
    expect(platform?.standIn.problems).toEqual([]);
  });

  const answerFor = (path: string): FileAnswer =>
    path === 'out/table.csv'
      ? { kind: 'part', data: CSV.toString('base64'), size: CSV.length, version: '1' }
      : { kind: 'refused', why: 'there is no such file in the directory of the session' };

  function sender(options: Parameters<DeliveryFixture['sender']>[0] = {}) {
    return fixture.sender({
      settings: { [platform.name]: platform.settings },
      chats: [platform.name],
      askWatcher: async (_subject, payload) =>
        JSON.stringify(answerFor(fileRequestSchema.parse(JSON.parse(payload)).path)),
      // Without the platform's own rate, which would make tests slow.
      targets: (targets) => ({
        ...targets,
        find: (name) => {
          const ready = targets.find(name);
          const { limits: _own, ...target } = ready.target;
          return { ...ready, target };
        },
      }),
      ...options,
    });
  }

  const answered = (text: string) => {
    before = platform.texts().length;
    return fixture.answered(text, {
      deliver: { target: platform.name, to: { ...platform.to }, untrusted_address: false },
      deliverFiles: { max_bytes: 1_000_000, types: ['text/csv'] },
      watcher: 'watcher-1',
    });
  };
  const newFiles = (from: number) => platform.files().slice(from);

  it('follows its text, as it is, where the text stands', async () => {
    const from = platform.files().length;
    const id = await answered('Here is the [table](out/table.csv).');
    await fixture.hintUntil(sender(), id, fixture.settled(id));
    expect(platform.texts()).toHaveLength(before + 1);
    const [file, ...more] = newFiles(from);
    expect(more).toEqual([]);
    expect(file?.name).toMatch(/table\.csv$/);
    expect(file?.type ?? 'text/csv').toBe('text/csv');
    expect(file?.bytes).toEqual(CSV);
    expect(file?.mark).toBeNull();
  });

  it('that is gone, or that the platform refuses, is a line that says why', async () => {
    const from = platform.files().length;
    const gone = await answered('[gone](gone.csv)');
    await fixture.hintUntil(sender(), gone, fixture.settled(gone));
    expect(platform.texts().at(-1)).toContain('was not sent: there is no such file');
    const refused = await answered('[table](out/table.csv)');
    platform.standIn.next({ kind: 'take' }, { kind: 'answer', answer: platform.refusal });
    await fixture.hintUntil(sender(), refused, fixture.settled(refused));
    expect(platform.texts().at(-1)).toContain('was not sent: ');
    expect((await fixture.types(refused)).at(-1)).toBe('delivery.succeeded');
    expect(newFiles(from)).toEqual([]);
  });

  it('whose message was cut off before the platform took it is there once', async () => {
    const from = platform.files().length;
    const id = await answered('[table](out/table.csv)');
    platform.standIn.next({ kind: 'take' }, { kind: 'reset' });
    await fixture.hintUntil(sender({ delivery: HURRIED }), id, fixture.settled(id));
    expect(newFiles(from)).toHaveLength(1);
    expect(platform.texts()).toHaveLength(before + 1);
  });

  it('whose answer was lost is there once, or the second one is marked', async () => {
    const from = platform.files().length;
    const id = await answered('[table](out/table.csv)');
    platform.standIn.next({ kind: 'take' }, { kind: 'cut-off' });
    await fixture.hintUntil(sender({ delivery: HURRIED }), id, fixture.settled(id));
    expect(newFiles(from).map(({ mark }) => mark)).toEqual(
      platform.idempotent ? [null] : [null, '(possible duplicate)'],
    );
    expect(platform.texts()).toHaveLength(before + 1);
  });
});
