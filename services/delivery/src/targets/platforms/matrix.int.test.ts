import { type MatrixStandIn, startMatrix } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { OutputMessage, SendRequest, Target } from '../target.ts';
import { outputMessage, requestsFor, windowOf } from '../testing/contract.ts';
import { matrixTarget } from './matrix.ts';

const TOKEN = 'syt_secret';
let matrix: MatrixStandIn;
let target: Target;

beforeEach(async () => {
  matrix = await startMatrix({ token: TOKEN });
  target = matrixTarget();
});

afterEach(async () => {
  await target.close();
  await matrix.stop();
});

function request(message: string | OutputMessage, to = {}): SendRequest {
  const settings = { access_token: TOKEN, api_base: matrix.url };
  const [first] = requestsFor(
    { target, settings, to: { room_id: '!room:hs.test', ...to } },
    typeof message === 'string' ? outputMessage(message) : message,
  );
  if (first === undefined) throw new Error('no chunk');
  return first;
}

const contents = () => matrix.events.map(({ content }) => content);

describe('a message', () => {
  it('has a text and an HTML form, and mentions nobody', async () => {
    await target.send(request('Done: **all** of it, @room <script>alert(1)</script>'));
    expect(contents()).toEqual([
      {
        msgtype: 'm.text',
        body: 'Done: all of it, @\u200broom <script>alert(1)</script>',
        format: 'org.matrix.custom.html',
        formatted_body:
          '<p>Done: <strong>all</strong> of it, @\u200broom &lt;script&gt;alert(1)&lt;/script&gt;</p>',
        'm.mentions': {},
      },
    ]);
    expect(matrix.problems).toEqual([]);
  });

  it('is a notice if it is only a status', async () => {
    await target.send(request(outputMessage('working', { type: 'interim-status' })));
    expect(contents()[0]?.msgtype).toBe('m.notice');
  });

  it('is in its thread', async () => {
    await target.send(request('in it', { thread_id: '$root' }));
    expect(contents()[0]?.['m.relates_to']).toEqual({
      rel_type: 'm.thread',
      event_id: '$root',
      is_falling_back: true,
      'm.in_reply_to': { event_id: '$root' },
    });
  });

  it('goes to the room that an alias names now', async () => {
    expect(await target.send(request('x', { room_id: '#ops:hs.test' }))).toMatchObject({ kind: 'taken' });
    expect(matrix.events[0]?.roomId).toBe('!ops:hs.test');
    // The receipt has the room: an edit goes there even if the alias names another one by then.
    const address = { to: { room_id: '#moved:hs.test' }, untrusted: false, untrustedHost: false };
    expect(target.placeOf?.('!ops:hs.test $event1', address)).toMatchObject({
      chat: '!ops:hs.test',
      message: '$event1',
    });
    expect(
      await target.edit?.(request('y', { room_id: '#moved:hs.test' }), '!ops:hs.test $event1'),
    ).toMatchObject({ kind: 'taken', receipt: '!ops:hs.test $event1' });
    expect(await target.send(request('x', { room_id: '#none:hs.test' }))).toEqual({
      kind: 'permanent',
      reason: `http 404 from ${matrix.url}: M_NOT_FOUND Room alias not found`,
    });
  });

  it('has its key as transaction id, and an edit has another', async () => {
    const status = request('working');
    await target.send(status);
    const answer = request('done');
    await target.edit?.(answer, '$event1');
    expect(matrix.requests.map(({ path }) => path.split('/').at(-1))).toEqual([
      status.idempotencyKey,
      `${answer.idempotencyKey}.edit`,
    ]);
    // The server does not confuse the answer itself, sent later, with the edit.
    expect(await target.send({ ...answer, window: windowOf() })).toMatchObject({
      kind: 'taken',
      receipt: '$event3',
    });
  });

  it('replaces the first event if it is an edit, in old clients too', async () => {
    await target.send(request('working'));
    expect(await target.edit?.(request('**done**'), '$event1')).toEqual({
      kind: 'taken',
      receipt: '$event1',
    });
    expect(contents()[1]).toEqual({
      msgtype: 'm.text',
      body: '* done',
      'm.mentions': {},
      'm.new_content': {
        msgtype: 'm.text',
        body: 'done',
        format: 'org.matrix.custom.html',
        formatted_body: '<p><strong>done</strong></p>',
        'm.mentions': {},
      },
      'm.relates_to': { rel_type: 'm.replace', event_id: '$event1' },
    });
  });

  it('of characters with many bytes is cut before the event is too large, as an edit too', async () => {
    const settings = { access_token: TOKEN, api_base: matrix.url };
    const where = { target, settings, to: { room_id: '!room:hs.test' } };
    const all = requestsFor(where, outputMessage(`${'"<&>\\'.repeat(20)} ${'😀'.repeat(40)}\n`.repeat(200)));
    expect(all.length).toBeGreaterThan(1);
    for (const one of all) {
      expect(await target.send({ ...one, window: windowOf() })).toMatchObject({ kind: 'taken' });
      expect(await target.edit?.({ ...one, window: windowOf() }, '$event1')).toMatchObject({ kind: 'taken' });
    }
    expect(matrix.problems).toEqual([]);
  });
});

describe('an answer of the homeserver', () => {
  it('Retry-After wins over the older retry_after_ms', async () => {
    matrix.next({
      kind: 'answer',
      answer: {
        status: 429,
        body: { errcode: 'M_LIMIT_EXCEEDED', retry_after_ms: 2_000 },
        headers: { 'retry-after': '9' },
      },
    });
    expect(await target.send(request('x'))).toMatchObject({ retryAfterSeconds: 9, scope: 'target' });
  });

  it('a room that the user is not in is a permanent refusal', async () => {
    expect(await target.send(request('x', { room_id: '!forbidden:hs.test' }))).toMatchObject({
      kind: 'permanent',
      reason: expect.stringContaining('M_FORBIDDEN'),
    });
  });
});

it('a message stands in its room and thread; of an alias nobody knows where it led', () => {
  const place = (to: object) =>
    target.placeOf?.('$event1', { to: { ...to }, untrusted: false, untrustedHost: false });
  expect(place({ room_id: '!room:hs.test', thread_id: '$root' })).toEqual({
    platform: 'matrix',
    chat: '!room:hs.test',
    thread: '$root',
    message: '$event1',
  });
  expect(place({ room_id: '#ops:hs.test' })).toBeNull();
});

it('shows that it is typing, as the user of the token', async () => {
  await target.typing?.(request('x'));
  expect(matrix.typing).toEqual(['!room:hs.test']);
  expect(matrix.problems).toEqual([]);
});
