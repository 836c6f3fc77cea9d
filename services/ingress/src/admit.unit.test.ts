import { describe, expect, it } from '@jest/globals';
import { admit } from './admit.ts';
import { Refusal } from './refusal.ts';
import { receivedOf, routeOf } from './testing/route.ts';

const JSON_HEADERS = { 'content-type': 'application/json' };
const route = routeOf({});

function refusal(headers: Record<string, string>, body: string | Buffer): string {
  try {
    admit(receivedOf(route, headers, body));
    return 'admitted';
  } catch (error) {
    if (error instanceof Refusal) return `${error.status} ${error.message}`;
    throw error;
  }
}

function admitted(settings: Record<string, unknown>, headers: Record<string, string>, body = '{"a":1}') {
  const admission = admit(receivedOf(routeOf(settings), { ...JSON_HEADERS, ...headers }, body));
  if (admission.kind !== 'admitted') throw new Error(admission.kind);
  return admission;
}

describe('a body', () => {
  it.each(['application/json', 'Application/JSON; charset=utf-8', 'application/cloudevents+json'])(
    'of type %s is taken',
    (type) => {
      expect(refusal({ 'content-type': type }, '{}')).toBe('admitted');
    },
  );

  it.each(['application/x-www-form-urlencoded', 'text/plain', 'application/jsonp', 'text/json', ''])(
    'of type %j is refused with 415',
    (type) => {
      expect(refusal({ 'content-type': type }, '{}')).toMatch(/^415 .* application\/json$/);
    },
  );

  it('without a type is refused with 415', () => {
    expect(refusal({}, '{}')).toMatch(/^415 no content-type/);
  });

  it.each(['{}', '[1]', '"text"', '7', 'null', '\uFEFF{"bom":true}', ' {"a":1}\n'])('%j is JSON', (body) => {
    expect(refusal(JSON_HEADERS, body)).toBe('admitted');
  });

  it('that is not JSON is refused with 400 and the place, without quoting it', () => {
    expect(refusal(JSON_HEADERS, '{"a":1,\n "hidden" 2}')).toMatch(/^400 .*line 2, column 11/);
    expect(refusal(JSON_HEADERS, '{"a":')).toBe(
      '400 the body is not valid JSON: it ends too early, after 5 characters',
    );
    for (const body of ['hidden', "{'hidden':1}", '{"hidden":1}}', '{"hidden"', '[1,]hidden']) {
      expect(refusal(JSON_HEADERS, body)).toMatch(/^400 the body is not valid JSON: /);
      expect(refusal(JSON_HEADERS, body)).not.toContain('hidden');
    }
  });

  it('that is nested too deeply to keep its long numbers is refused with 400, and taken without any', () => {
    const nested = (inner: string) => '['.repeat(100_000) + inner + ']'.repeat(100_000);
    expect(refusal(JSON_HEADERS, nested('12345678901234567890'))).toMatch(/^400 .*nested too deeply/);
    expect(refusal(JSON_HEADERS, nested('1'))).toBe('admitted');
  });

  it('that is empty is refused with 400', () => {
    expect(refusal(JSON_HEADERS, '')).toMatch(/^400 the body is empty/);
  });

  it('that is not UTF-8 is refused with 400 and the offset of the first bad byte', () => {
    const bad = Buffer.from('{"a":"grüße ÿ"}', 'latin1');
    expect(refusal(JSON_HEADERS, bad)).toMatch(/^400 .*offset 8\)/);
    expect(refusal(JSON_HEADERS, Buffer.from([0x22, 0xc3, 0xa4, 0xff, 0x22]))).toMatch(/offset 3\)/);
    expect(refusal(JSON_HEADERS, Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))).toMatch(
      /^400 .*not valid UTF-8/,
    );
  });
});

describe('the event type', () => {
  it.each([
    [{ 'x-github-event': 'push', 'x-event-type': 'other' }, '{"type":"body"}', 'push'],
    [{ 'x-gitlab-event': 'Push Hook' }, '{}', 'Push Hook'],
    [{ 'x-event-type': 'alert' }, '{"event":"body"}', 'alert'],
    [{ 'x-github-event': '' }, '{"event_type":"first","event":"second","type":"third"}', 'first'],
    [{}, '{"event":{"not":"text"},"type":"third"}', 'third'],
    [{}, '{"event":"","type":7}', null],
    [{}, '["type"]', null],
    [{}, `{"type":"${'x'.repeat(201)}"}`, null],
  ])('of %j and %s is %j', (headers, body, expected) => {
    expect(admitted({}, headers as Record<string, string>, body).event).toBe(expected);
  });

  it('decides whether the route wants it', () => {
    const wanted = routeOf({ events: ['push'] });
    const of = (headers: Record<string, string>) =>
      admit(receivedOf(wanted, { ...JSON_HEADERS, ...headers }, '{}')).kind;
    expect(of({ 'x-github-event': 'push' })).toBe('admitted');
    expect(of({ 'x-github-event': 'ping' })).toBe('ignored');
    expect(of({})).toBe('ignored');
  });
});

describe('the delivery id', () => {
  it('is the first of the known headers', () => {
    const all = {
      'x-github-delivery': 'g',
      'svix-id': 's',
      'webhook-id': 'w',
      'idempotency-key': 'i',
      'x-request-id': 'r',
    };
    const seen: string[] = [];
    const headers: Record<string, string> = { ...all };
    for (const name of Object.keys(all)) {
      seen.push(admitted({}, headers).delivery.id);
      delete headers[name];
    }
    expect(seen).toEqual(['g', 's', 'w', 'i', 'r']);
  });

  it("is made by the route's template when no header has one", () => {
    const settings = { delivery_id: '{kind}-{id}' };
    expect(admitted(settings, {}, '{"kind":"a","id":7}').delivery).toEqual({ id: 'a-7', from: 'sender' });
  });

  it('is not made by a template that lacks a value: it would be the same for every request', () => {
    const settings = { delivery_id: '{kind}-{id}' };
    const one = admitted(settings, {}, '{"kind":"a"}').delivery;
    const other = admitted(settings, {}, '{"kind":"b"}').delivery;
    expect([one.from, other.from]).toEqual(['content', 'content']);
    expect(one.id).not.toBe(other.id);
  });

  it('is a hash of the body when nothing names it', () => {
    const one = admitted({}, {}, '{"a":1}').delivery;
    expect(one).toEqual(admitted({}, {}, '{"a":1}').delivery);
    expect(one.id).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(one.id).not.toBe(admitted({}, {}, '{"a":2}').delivery.id);
  });

  it('is hashed when it is very long', () => {
    const { id } = admitted({}, { 'x-request-id': 'x'.repeat(5000) }).delivery;
    expect(id).toMatch(/^sha256:[0-9a-f]{64}$/);
  });
});
