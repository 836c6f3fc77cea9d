import { messageKey } from '@angelia/chats';
import { FILE_SUBJECT, type FileAnswer, type FileRequest, fileRequestSchema } from '@angelia/contracts';
import { startTelegram, type TelegramStandIn } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  type DeliveryFixture,
  openDeliveryFixture,
  type SenderOptions,
} from '../testing/delivery-fixture.ts';

// Files that an answer names. What the watcher reads and refuses is tested beside it (process-watcher, files/).

const TOKEN = '123456:telegram-token';
const PNG = Buffer.concat([
  Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
  Buffer.from([0, 255, 13, 10, 45, 45]),
]);

let fixture: DeliveryFixture;
let telegram: TelegramStandIn;
let files: Map<string, Buffer>;
let asked: FileRequest[];
let away: boolean;

beforeAll(async () => {
  fixture = await openDeliveryFixture();
});

afterAll(() => fixture?.close());

beforeEach(async () => {
  telegram = await startTelegram({ token: TOKEN });
  files = new Map();
  asked = [];
  away = false;
});

afterEach(async () => {
  await fixture.closeSenders();
  await telegram.stop();
  expect(telegram.problems).toEqual([]);
});

/** As process-watcher answers, in parts of at most 100,000 bytes. */
async function askWatcher(subject: string, payload: string): Promise<string | null> {
  expect(subject).toBe(FILE_SUBJECT);
  const request = fileRequestSchema.parse(JSON.parse(payload));
  asked.push(request);
  if (away) return null;
  const file = files.get(request.path);
  const answer: FileAnswer =
    file === undefined
      ? { kind: 'refused', why: 'there is no such file in the directory of the session' }
      : {
          kind: 'part',
          data: file.subarray(request.offset, request.offset + 100_000).toString('base64'),
          size: file.length,
          version: '1',
        };
  return JSON.stringify(answer);
}

/** Without Telegram's own rate, which would make tests slow. */
function sender(options: SenderOptions = {}) {
  return fixture.sender({
    settings: { telegram: { bot_token: TOKEN, api_base: telegram.url } },
    chats: ['telegram'],
    askWatcher,
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

let chats = 70_000;
const deliverFiles = { max_bytes: 1_000_000, types: ['image/png', 'text/csv', 'text/plain'] };

async function answered(text: string, over: Parameters<DeliveryFixture['answered']>[1] | object = {}) {
  chats += 1;
  const chat = `${chats}`;
  const deliver = { target: 'telegram', to: { chat_id: chat }, untrusted_address: false };
  const id = await fixture.answered(text, { deliver, deliverFiles, watcher: 'watcher-1', ...over });
  return { id, chat };
}

const told = (chat: string) => telegram.shownIn(chat).slice(1);
const receipts = async (key: string) => (await fixture.log.streams.read(key)).map(({ type }) => type);

it('a file follows the text that names it, as it is, once, and a reply to it finds the session', async () => {
  files.set('out/plot.png', PNG);
  files.set('table.csv', Buffer.from('x'.repeat(250_000)));
  const { id, chat } = await answered('Here: ![plot](out/plot.png) and [table](table.csv).');
  await fixture.hintUntil(sender(), id, fixture.settled(id));
  expect(telegram.shownIn(chat)).toHaveLength(1);
  expect(telegram.documents).toMatchObject([
    { chatId: chat, name: 'plot.png', type: 'image/png', bytes: PNG, caption: null },
    { chatId: chat, name: 'table.csv', type: 'text/csv' },
  ]);
  expect(telegram.documents[1]?.bytes).toHaveLength(250_000);
  expect(asked[0]).toMatchObject({ session_id: id, watcher: 'watcher-1', path: 'out/plot.png', offset: 0 });
  expect(await fixture.types(id)).toEqual([
    ...['delivery.attempted', 'delivery.chunk-taken', 'delivery.chunk-taken', 'delivery.succeeded'],
  ]);
  for (const { id: message } of telegram.documents) {
    const place = { platform: 'telegram' as const, chat, thread: null };
    expect(await receipts(messageKey(place, `${message}`))).toEqual(['key.session-opened']);
  }
});

it('nothing is asked for or sent unless the session was created with it', async () => {
  files.set('a.csv', Buffer.from('a'));
  const { id } = await answered('[a](a.csv)', { deliverFiles: undefined });
  await fixture.hintUntil(sender(), id, fixture.settled(id));
  expect([asked, telegram.documents]).toEqual([[], []]);
});

it.each([
  ['a file that is gone', '[a](gone.csv)', '`gone.csv` was not sent: there is no such file'],
  ['a path out of the directory', '[a](../b.csv)', '`../b.csv` was not sent: only files in the directory'],
  ['a type that is not allowed', '[a](a.pdf)', '`a.pdf` was not sent: files of type application/pdf'],
  ['an image that is none', '[a](fake.png)', '`fake.png` was not sent: its content is not image/png'],
  ['a text that is none', '[a](fake.csv)', '`fake.csv` was not sent: its content is not text/csv'],
  ['an empty file', '[a](empty.csv)', '`empty.csv` was not sent: it is empty'],
  ['a file that is larger than it was said', '[a](large.csv)', '`large.csv` was not sent: it has more than'],
])('%s is one line that says why, and the delivery succeeds', async (_what, text, line) => {
  files.set('fake.png', Buffer.from('<script>'));
  files.set('fake.csv', PNG);
  files.set('empty.csv', Buffer.alloc(0));
  files.set('large.csv', Buffer.alloc(1_000_001, 'a'));
  const { id, chat } = await answered(text);
  await fixture.hintUntil(sender(), id, fixture.settled(id));
  expect(told(chat)).toEqual([expect.stringContaining(line.replaceAll('`', ''))]);
  expect(telegram.documents).toEqual([]);
  expect((await fixture.types(id)).at(-1)).toBe('delivery.succeeded');
});

it('a file that the platform refuses is one line that says so', async () => {
  files.set('a.csv', Buffer.from('a'));
  const { id, chat } = await answered('[a](a.csv)');
  telegram.next(
    { kind: 'take' },
    { kind: 'answer', answer: { status: 413, body: { ok: false, description: 'Request Entity Too Large' } } },
  );
  await fixture.hintUntil(sender(), id, fixture.settled(id));
  expect(told(chat)).toEqual([expect.stringMatching(/a\.csv was not sent: .*413/)]);
});

it('a host that is away is waited for: the text is not sent again, and the file comes later', async () => {
  files.set('a.csv', Buffer.from('a'));
  const { id, chat } = await answered('[a](a.csv)');
  const delivery = sender();
  away = true;
  await fixture.hintUntil(delivery, id, fixture.failed(id, 1));
  away = false;
  await fixture.hintUntil(delivery, id, fixture.settled(id));
  expect(telegram.shownIn(chat)).toHaveLength(1);
  expect(telegram.documents).toMatchObject([{ name: 'a.csv', caption: null }]);
});

it('a host that stays away is one line in the end, and later answers are not held back', async () => {
  const { id, chat } = await answered('[a](a.csv)');
  away = true;
  const delivery = sender();
  await fixture.hintUntil(delivery, id, fixture.settled(id));
  expect(told(chat)).toEqual(['a.csv was not sent: its host does not answer.']);
  expect(delivery.circuitsOpen).toBe(0);
});

it('a file that may have been taken is sent again marked, and the text is not', async () => {
  files.set('a.csv', Buffer.from('a'));
  const { id, chat } = await answered('[a](a.csv)');
  telegram.next({ kind: 'take' }, { kind: 'cut-off' });
  await fixture.hintUntil(sender(), id, fixture.settled(id));
  expect(telegram.shownIn(chat)).toHaveLength(1);
  expect(telegram.documents.map(({ caption }) => caption)).toEqual([null, '(possible duplicate)']);
});

it('a group that became a supergroup gets the file too', async () => {
  files.set('a.csv', Buffer.from('a'));
  const { id, chat } = await answered('[a](a.csv)');
  telegram.migrate(chat, -1_007);
  await fixture.hintUntil(sender(), id, fixture.settled(id));
  expect(telegram.documents).toMatchObject([{ chatId: '-1007', name: 'a.csv' }]);
});
