import { eventually, type MatrixStandIn, startMatrix } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type RecordedConnection, recordedConnection } from '../../../testing/recorded-connection.ts';
import type { PlatformSettings } from '../../platform.ts';
import { matrix } from './matrix.ts';

const token = 'syt_secret';
const anna = '@anna:hs.test';
const ben = '@ben:hs.test';
const room = '!ops:hs.test';
let platform: MatrixStandIn;
let settings: PlatformSettings;
let connection: RecordedConnection;

function connect(chat: object = {}): RecordedConnection {
  settings = {
    chat: { user_id: platform.user, speakers: { users: [anna] }, ...chat },
    target: { access_token: token, api_base: platform.url },
  };
  if (matrix.connection === undefined) throw new Error('matrix has no connection');
  return recordedConnection(matrix.connection, settings);
}

beforeEach(async () => {
  platform = await startMatrix({ token });
  platform.room(room, [anna, ben]);
  connection = connect();
});

afterEach(async () => {
  await connection.stop();
  await platform.stop();
  expect(platform.problems).toEqual([]);
});

const taken = (...texts: string[]) =>
  eventually(() => JSON.stringify(connection.texts) === JSON.stringify(texts), {
    describe: () =>
      JSON.stringify({ wanted: texts, taken: connection.texts, errors: connection.errors.map(String) }),
  });

/** The first sync is done: what comes now is news. */
async function start(): Promise<void> {
  connection.start();
  await eventually(() => connection.offset);
}

describe('the sync', () => {
  it('takes nothing of what was there before, then what people say and nothing else', async () => {
    platform.write(room, anna, 'long ago');
    await start();
    platform.write(room, anna, 'hello');
    platform.write(room, platform.user, 'our own');
    platform.write(room, ben, { msgtype: 'm.notice', body: 'a bot', 'm.mentions': {} });
    platform.happen(room, ben, 'm.reaction', {
      'm.relates_to': { rel_type: 'm.annotation', event_id: '$1', key: 'x' },
    });
    platform.happen(room, ben, 'm.room.redaction', { redacts: '$said1' });
    platform.write(room, ben, {
      msgtype: 'm.text',
      body: '* hi',
      'm.relates_to': { rel_type: 'm.replace', event_id: '$1' },
    });
    platform.write(room, ben, 'and I');
    await taken('hello', 'and I');
    expect(connection.taken).toMatchObject([
      { from: { id: anna, name: 'Anna' }, place: { chat: room }, direct: false },
      { from: { id: ben } },
    ]);
  });

  it('goes on behind what is durable, and fetches what lies between if it was too much', async () => {
    await start();
    platform.write(room, anna, 'one');
    await taken('one');
    connection.failTakes(1);
    platform.write(room, anna, 'two');
    await taken('one', 'two');
    await connection.stop();
    const many = Array.from({ length: 170 }, (_, number) => `message ${number}`);
    for (const text of many) platform.write(room, anna, text);
    await start();
    await taken('one', 'two', ...many);
    expect(connection.told).toEqual([]);
  });

  it('joins a room if a speaker invites, and takes what was said since then; nobody else is followed', async () => {
    await start();
    platform.room('!stranger:hs.test', [ben], { invitedBy: ben });
    platform.room('!team:hs.test', [anna]);
    platform.room('!new:hs.test', [anna], { invitedBy: anna });
    platform.write('!new:hs.test', anna, 'are you there?');
    await eventually(() => platform.isJoined('!new:hs.test'));
    await taken('are you there?');
    expect(connection.taken).toMatchObject([{ direct: true, place: { chat: '!new:hs.test' } }]);
    expect(platform.isJoined('!stranger:hs.test')).toBe(false);
  });

  it('tells the operator once of a room that is encrypted', async () => {
    await start();
    for (const count of [1, 2]) platform.happen(room, anna, 'm.room.encrypted', { algorithm: `x${count}` });
    platform.write(room, anna, 'in the open');
    await taken('in the open');
    platform.happen(room, anna, 'm.room.encrypted', { algorithm: 'y' });
    platform.write(room, anna, 'again');
    await taken('in the open', 'again');
    expect(connection.told).toEqual([expect.stringMatching(/^room !ops:hs\.test is encrypted/)]);
  });

  it('a token that is refused, or of another user, is an error that says what to do', async () => {
    connection = connect({ user_id: '@somebody:hs.test' });
    connection.start();
    const other = await eventually(() => connection.errors[0]);
    expect(other).toMatchObject({
      retryable: false,
      message: expect.stringContaining('belongs to @stand-in:hs.test'),
    });
    await connection.stop();
    connection = connect();
    platform.behaveToReads({ kind: 'answer', answer: { status: 401, body: { errcode: 'M_UNKNOWN_TOKEN' } } });
    connection.start();
    const refused = await eventually(() => connection.errors[0]);
    expect(refused).toMatchObject({ retryable: false, message: expect.stringContaining('access_token') });
    expect(refused.message).not.toContain(token);
  });
});

it('a file comes from the homeserver, with the token, and not if it is too long', async () => {
  const fetchFile = (id: string, most = 1_000) =>
    matrix.fetchFile?.({ id, name: 'a', mimeType: null, bytes: null }, most, {
      settings,
      signal: new AbortController().signal,
    });
  const bytes = await fetchFile('mxc://hs.test/JWEIFJgwEIhweiWJE');
  expect(Buffer.from(bytes ?? []).toString()).toContain('JWEIFJgwEIhweiWJE');
  await expect(fetchFile('mxc://hs.test/JWEIFJgwEIhweiWJE', 3)).rejects.toThrow('more than 3 bytes');
  await expect(fetchFile('https://hs.test/x')).rejects.toThrow('not the address of a file');
  await expect(fetchFile('mxc://hs.test/../../x')).rejects.toThrow('not the address of a file');
});
