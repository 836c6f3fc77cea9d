import type { AuthScheme } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { Refusal } from '../../http/refusal.ts';
import { receivedOf, routeOf } from '../../testing/route.ts';
import type { Scheme } from '../authenticate/scheme.ts';
import { schemeNamed } from '../authenticate/scheme-registry.ts';
import { admit } from './admit.ts';
import { deliveryKey } from './delivery-id.ts';

const JSON_HEADERS = { 'content-type': 'application/json' };
const route = routeOf({});

function refusal(headers: Record<string, string>, body: string | Buffer): string {
  try {
    admit(receivedOf(route, headers, body), null);
    return 'admitted';
  } catch (error) {
    if (error instanceof Refusal) return `${error.status} ${error.message}`;
    throw error;
  }
}

function admitted(
  settings: Record<string, unknown>,
  headers: Record<string, string>,
  body = '{"a":1}',
  scheme: Scheme | null = null,
) {
  const admission = admit(receivedOf(routeOf(settings), { ...JSON_HEADERS, ...headers }, body), scheme);
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

  it.each(['multipart/form-data; boundary=x', 'text/plain', 'application/jsonp', 'text/json', ''])(
    'of type %j is refused with 415',
    (type) => {
      expect(refusal({ 'content-type': type }, '{}')).toMatch(/^415 .* application\/json$/);
    },
  );

  it('that is compressed is refused with 415', () => {
    expect(refusal({ ...JSON_HEADERS, 'content-encoding': 'gzip' }, '{}')).toMatch(/^415 compressed/);
    expect(refusal({ ...JSON_HEADERS, 'content-encoding': 'Identity' }, '{}')).toBe('admitted');
  });

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

  it('that is nested too deeply to keep its long numbers is refused with 400; without long numbers it is taken', () => {
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

describe('a form', () => {
  const FORM_HEADERS = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' };
  const payloadOf = (body: string) => admitted({}, FORM_HEADERS, body).payload;

  it('is an object of its fields; a repeated field is a list', () => {
    expect(payloadOf('text=gr%C3%BC%C3%9Fe+dich&to=%2B1&to=2&to=3&empty=&bare')).toEqual({
      text: 'grüße dich',
      to: ['+1', '2', '3'],
      empty: '',
      bare: '',
    });
    expect(payloadOf('command=%2Fdeploy&payload=%7B%7D')).toEqual({ command: '/deploy', payload: '{}' });
  });

  it('of one field `payload` is the JSON in it, as GitHub and Slack send it', () => {
    const json = '{"action":"opened","id":12345678901234567890}';
    expect(JSON.stringify(payloadOf(`payload=${encodeURIComponent(json)}`))).toBe(json);
    expect(payloadOf('payload=%5B1%5D')).toEqual([1]);
    expect(payloadOf('payload=just+text')).toEqual({ payload: 'just text' });
    expect(refusal(FORM_HEADERS, 'payload=%7B%22a%22')).toMatch(/^400 the body is not valid JSON/);
  });

  it('cannot reach a prototype', () => {
    const payload = payloadOf('__proto__=x&constructor=y') as Record<string, unknown>;
    expect(Object.entries(payload)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
    expect(Object.getPrototypeOf(payload)).toBe(Object.prototype);
  });

  it.each([
    ['', 'empty'],
    ['a=%', 'percent-encoding'],
    ['a=%zz', 'percent-encoding'],
    ['a=%ff', 'percent-encoding'],
    [Buffer.from([0x61, 0x3d, 0xff]), 'UTF-8'],
    ['a&'.repeat(10_001), 'more than 10000 fields'],
  ])('%j is refused with 400', (body, why) => {
    expect(refusal(FORM_HEADERS, body)).toMatch(/^400 /);
    expect(refusal(FORM_HEADERS, body)).toContain(why);
  });
});

describe('a handshake', () => {
  const body =
    '{"token":"t","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}';
  const slack = { ...JSON_HEADERS, 'x-slack-signature': 'v0=checked-before' };

  it('of Slack is answered with its challenge, whatever events the route lists', () => {
    expect(admit(receivedOf(routeOf({ events: ['app_mention'] }), slack, body), null)).toEqual({
      kind: 'handshake',
      handshake: {
        status: 200,
        body: { challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P' },
      },
    });
  });

  it.each([
    ['comes from anybody else', JSON_HEADERS, body],
    ['has a challenge that is no text', slack, '{"type":"url_verification","challenge":{"a":1}}'],
    ['has a very long challenge', slack, `{"type":"url_verification","challenge":"${'x'.repeat(201)}"}`],
    ['is only a null', slack, 'null'],
  ])('is not recognised when it %s', (_what, headers, text) => {
    expect(admit(receivedOf(route, headers as Record<string, string>, text), null).kind).toBe('admitted');
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
    [{ 'x-shopify-topic': 'orders/create' }, '{}', 'orders/create'],
    [{ 'linear-event': 'Issue' }, '{"type":"Issue"}', 'Issue'],
    [{}, '{"id":"evt_1","object":"event","type":"charge.succeeded"}', 'charge.succeeded'],
    [{}, '{"type":"event_callback","event":{"type":"app_mention"}}', 'app_mention'],
    [{}, '{"type":"event_callback","event":{}}', 'event_callback'],
    [{}, '["type"]', null],
    [{}, `{"type":"${'x'.repeat(201)}"}`, null],
  ])('of %j and %s is %j', (headers, body, expected) => {
    expect(admitted({}, headers as Record<string, string>, body).event).toBe(expected);
  });

  it('decides whether the route wants it', () => {
    const wanted = routeOf({ events: ['push'] });
    const of = (headers: Record<string, string>) =>
      admit(receivedOf(wanted, { ...JSON_HEADERS, ...headers }, '{}'), null).kind;
    expect(of({ 'x-github-event': 'push' })).toBe('admitted');
    expect(of({ 'x-github-event': 'ping' })).toBe('ignored');
    expect(of({})).toBe('ignored');
  });
});

describe("a route's `events`", () => {
  const gitlab = { 'x-gitlab-event': 'Merge Request Hook' };
  const merge = '{"object_kind":"merge_request","object_attributes":{"action":"open"}}';
  it.each([
    ['Merge Request Hook', gitlab, merge],
    ['merge_request', gitlab, merge],
    ['merge_request', gitlab, '{}'],
    ['merge_request.open', gitlab, merge],
    ['build', { 'x-gitlab-event': 'Job Hook' }, '{"object_kind":"build"}'],
    ['Job Hook', { 'x-gitlab-event': 'Job Hook' }, '{"object_kind":"build"}'],
    ['pull_request', { 'x-github-event': 'pull_request' }, '{"action":"opened"}'],
    ['pull_request.opened', { 'x-github-event': 'pull_request' }, '{"action":"opened"}'],
    ['orders/create', { 'x-shopify-topic': 'orders/create' }, '{}'],
    ['ORDERS_CREATE', { 'x-shopify-topic': 'orders/create' }, '{}'],
    ['issue', { 'linear-event': 'Issue' }, '{"action":"create"}'],
    ['Issue.create', {}, '{"type":"Issue","action":"create"}'],
    ['charge.succeeded', {}, '{"type":"charge.succeeded"}'],
    ['app_mention', {}, '{"type":"event_callback","event":{"type":"app_mention"}}'],
  ])('%j name %j with %s', (name, headers, body) => {
    const received = (events: string[]) =>
      receivedOf(routeOf({ events }), { ...JSON_HEADERS, ...(headers as Record<string, string>) }, body);
    expect(admit(received([name, 'other']), null).kind).toBe('admitted');
    expect(admit(received(['other', `${name}x`, `x${name}`, `${name}.closed`]), null).kind).toBe('ignored');
  });
});

describe('the delivery id', () => {
  it('is the first of the known headers', () => {
    const all = {
      'x-github-delivery': 'g',
      'svix-id': 's',
      'webhook-id': 'w',
      'idempotency-key': 'i',
      'linear-delivery': 'l',
      'x-shopify-webhook-id': 'sh',
      'i-twilio-idempotency-token': 't',
      'x-gitlab-event-uuid': 'gl',
      'x-request-id': 'r',
    };
    const seen: string[] = [];
    const headers: Record<string, string> = { ...all };
    for (const name of Object.keys(all)) {
      seen.push(admitted({}, headers).delivery.id);
      delete headers[name];
    }
    expect(seen).toEqual(['g', 's', 'w', 'i', 'l', 'sh', 't', 'gl', 'r']);
  });

  it('of Stripe and Slack is in the body, and only for them', () => {
    const stripe = '{"id":"evt_1","object":"event","type":"a"}';
    const slack = '{"type":"event_callback","event_id":"Ev1","event":{"type":"a"}}';
    // Even on a route that does not check the signature.
    const of = (headers: Record<string, string>, body: string) =>
      admitted({ delivery_id: 'made-{event_type}' }, { ...headers, 'x-request-id': 'proxy' }, body).delivery
        .id;
    expect(of({ 'stripe-signature': 'any' }, stripe)).toBe('evt_1');
    expect(of({ 'x-slack-signature': 'any' }, slack)).toBe('Ev1');
    expect(of({}, stripe)).toBe('made-a');
    expect(of({}, slack)).toBe('made-a');
    expect(of({ 'stripe-signature': '' }, '{"id":"ch_1"}')).toBe('made-unknown');
    expect(of({ 'x-slack-signature': '' }, '{"event_id":7}')).toBe('made-unknown');
  });

  it('of an older GitLab is its event and the body, because events with one cause share a UUID', () => {
    const of = (body: string) => admitted({}, { 'x-gitlab-event-uuid': 'u' }, body).delivery;
    expect(of('{"a":1}')).toEqual(of('{"a":1}'));
    expect(of('{"a":1}')).toMatchObject({ id: 'u', from: 'sender' });
    expect(deliveryKey('r', of('{"a":1}'))).not.toBe(deliveryKey('r', of('{"a":2}')));
  });

  it("comes from the route's template if the provider has none, before that of a proxy", () => {
    const settings = { delivery_id: '{kind}-{id}' };
    const made = { id: 'a-7', from: 'sender' };
    expect(admitted(settings, {}, '{"kind":"a","id":7}').delivery).toEqual(made);
    expect(admitted(settings, { 'x-request-id': 'r' }, '{"kind":"a","id":7}').delivery).toEqual(made);
    expect(admitted(settings, { 'x-request-id': 'r' }, '{}').delivery.id).toBe('r');
    expect(admitted(settings, { 'webhook-id': 'w' }, '{"kind":"a","id":7}').delivery.id).toBe('w');
  });

  it('does not come from a template that lacks a value, because it would be the same for every request', () => {
    const settings = { delivery_id: '{kind}-{id}' };
    const one = admitted(settings, {}, '{"kind":"a"}').delivery;
    const other = admitted(settings, {}, '{"kind":"b"}').delivery;
    expect([one.from, other.from]).toEqual(['content', 'content']);
    expect(one.id).not.toBe(other.id);
  });

  it('is a hash of the body if there is no other', () => {
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

describe('the provider that signed a webhook', () => {
  /** Headers of all kinds of senders, each with a value other than the provider's. */
  const FOREIGN = {
    'x-github-delivery': 'foreign',
    'svix-id': 'foreign',
    'webhook-id': 'foreign',
    'idempotency-key': 'foreign',
    'linear-delivery': 'foreign',
    'x-shopify-webhook-id': 'foreign',
    'i-twilio-idempotency-token': 'foreign',
    'x-gitlab-event-uuid': 'foreign',
    'x-request-id': 'foreign',
    'x-github-event': 'foreign',
    'x-gitlab-event': 'foreign',
    'x-shopify-topic': 'foreign',
    'linear-event': 'foreign',
    'ce-type': 'foreign',
    'x-event-type': 'foreign',
  };
  const signedBy = (
    scheme: AuthScheme,
    headers: Record<string, string>,
    body: string,
    settings: Record<string, unknown> = {},
  ) => admitted(settings, headers, body, schemeNamed(scheme));

  it.each<[AuthScheme, Record<string, string>, string, string, string]>([
    ['standard-webhooks', { 'webhook-id': 'own' }, '{"type":"a"}', 'own', 'a'],
    ['svix', { 'svix-id': 'own' }, '{"type":"a"}', 'own', 'a'],
    ['stripe', {}, '{"id":"evt_1","type":"a"}', 'evt_1', 'a'],
    ['slack', {}, '{"type":"event_callback","event_id":"Ev1","event":{"type":"a"}}', 'Ev1', 'a'],
    ['linear', { 'linear-delivery': 'own' }, '{"type":"Issue"}', 'own', 'Issue'],
    ['github', { 'x-github-delivery': 'own', 'x-github-event': 'push' }, '{"type":"b"}', 'own', 'push'],
    ['gitlab', { 'webhook-id': 'own', 'x-gitlab-event': 'Push Hook' }, '{}', 'own', 'Push Hook'],
    ['shopify', { 'x-shopify-webhook-id': 'own', 'x-shopify-topic': 'o/c' }, '{}', 'own', 'o/c'],
    [
      'shopify',
      { 'shopify-hmac-sha256': 's', 'shopify-webhook-id': 'own', 'shopify-topic': 'o/c' },
      '{}',
      'own',
      'o/c',
    ],
  ])('names it, and no header of other providers does: %s', (scheme, own, body, id, event) => {
    const alone = signedBy(scheme, own, body, { delivery_id: 'made-{event_type}' });
    expect([alone.delivery.id, alone.event]).toEqual([id, event]);
    for (const [name, value] of Object.entries(FOREIGN)) {
      const again = signedBy(scheme, { [name]: value, ...own }, body);
      expect([name, again.delivery, again.event]).toEqual([name, alone.delivery, event]);
    }
  });

  it('names it by the signed content: an older GitLab, Shopify, Twilio', () => {
    const of = (scheme: AuthScheme, headers: Record<string, string>, body = '{}') =>
      signedBy(scheme, { 'x-github-delivery': 'foreign', ...headers }, body).delivery;
    expect(of('gitlab', { 'idempotency-key': 'own' }).id).toBe('own');
    expect(of('gitlab', { 'x-gitlab-event-uuid': 'own' })).toMatchObject({
      id: 'own',
      key: expect.stringMatching(/^own:/),
    });
    expect(of('shopify', { 'x-shopify-event-id': 'own' }).id).toBe('own');
    const token = { 'i-twilio-idempotency-token': 'token' };
    const sent = of('twilio', token, '{"MessageSid":"SM1","MessageStatus":"sent"}');
    expect(sent.id).toBe('SM1');
    // The token is not signed, so another token is the same delivery. Another status is another delivery.
    expect(of('twilio', {}, '{"MessageSid":"SM1","MessageStatus":"sent"}')).toEqual(sent);
    expect(of('twilio', token, '{"MessageSid":"SM1","MessageStatus":"read"}').key).not.toBe(sent.key);
    expect(of('twilio', token, '{"CallSid":"CA1"}').id).toBe('token');
    expect(of('twilio', {}, '{"CallSid":"CA1"}').id).toBe('CA1');
  });

  it('is one delivery of Twilio, in whatever order or form its fields come', () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const keyOf = (body: string, headers: Record<string, string> = {}) =>
      deliveryKey('hook', signedBy('twilio', { ...form, ...headers }, body).delivery);
    const captured = keyOf('MessageSid=SM1&Body=a+b&To=%2B1');
    for (const body of [
      'To=%2B1&Body=a+b&MessageSid=SM1',
      'MessageSid=SM1&Body=a%20b&To=%2b1',
      '&MessageSid=SM1&&Body=a+b&To=%2B1&To=%2B1',
      // The same text is signed; the id is not in a separate field.
      'MessageSidS=M1&Bodya=+b&To=%2B1',
    ]) {
      expect([body, keyOf(body)]).toEqual([body, captured]);
      for (const name of Object.keys(FOREIGN)) expect(keyOf(body, { [name]: 'new' })).toBe(captured);
    }
    expect(keyOf('MessageSid=SM1&Body=a+c&To=%2B1')).not.toBe(captured);
    // For a call, which has a token in an unsigned header.
    const call = keyOf('CallSid=CA1&Digits=1', { 'i-twilio-idempotency-token': 'one' });
    expect(keyOf('Digits=1&CallSid=CA1', { 'i-twilio-idempotency-token': 'two' })).toBe(call);
    expect(keyOf('CallSid=CA1&Digits=2', { 'i-twilio-idempotency-token': 'one' })).not.toBe(call);
  });

  it.each<[AuthScheme, string]>([
    ['stripe', '{"id":"ch_1"}'],
    ['slack', '{"command":"/deploy"}'],
  ])('leaves it to the template and the body if %s signs no id', (scheme, body) => {
    const made = signedBy(scheme, FOREIGN, body, { delivery_id: 'made-{event_type}' });
    expect([made.delivery.id, made.event]).toEqual(['made-unknown', null]);
    const hashed = signedBy(scheme, FOREIGN, body).delivery;
    expect(hashed).toEqual(signedBy(scheme, {}, body).delivery);
    expect(hashed.from).toBe('content');
  });

  it.each<AuthScheme>(['github', 'gitlab', 'shopify', 'linear', 'twilio'])(
    'may use the headers of others where %s sent none of its own',
    (scheme) => {
      const of = (headers: Record<string, string>, settings = {}) =>
        signedBy(scheme, headers, '{"n":1}', settings);
      expect(of({ 'x-request-id': 'r' }).delivery.id).toBe('r');
      expect(of({ 'x-request-id': 'r' }, { delivery_id: 'n-{n}' }).delivery.id).toBe('n-1');
      expect(of({ 'svix-id': 's' }, { delivery_id: 'n-{n}' }).delivery.id).toBe('s');
      expect(of({ 'x-event-type': 'e' }).event).toBe('e');
    },
  );

  it.each<AuthScheme>(['hmac', 'hmac-body', 'bearer', 'basic'])('can be anybody with %s', (scheme) => {
    const headers = { 'x-github-delivery': 'g', 'x-github-event': 'push', 'webhook-id': 'w' };
    const taken = signedBy(scheme, headers, '{"type":"body"}');
    expect([taken.delivery.id, taken.event]).toEqual(['g', 'push']);
  });

  it('may have its event in a header if Standard Webhooks has none in the body, as in GitLab', () => {
    const headers = { 'webhook-id': 'w', 'x-gitlab-event': 'Push Hook' };
    expect(signedBy('standard-webhooks', headers, '{"object_kind":"push"}').event).toBe('Push Hook');
  });
});
