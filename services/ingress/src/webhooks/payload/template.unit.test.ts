import { describe, expect, it } from '@jest/globals';
import { headerReader } from './header-reader.ts';
import { parseJsonBody } from './json-body.ts';
import { compileTemplate } from './template.ts';

function rendered(template: string, payload: unknown, event: string | null = 'push'): string {
  return compileTemplate(template).render({ payload, event });
}

describe('a template', () => {
  it('fills in values by dotted path, with list indexes', () => {
    const payload = {
      number: 7,
      pull_request: { title: 'Fix it', labels: [{ name: 'bug' }, { name: 'ui' }] },
    };
    expect(rendered('PR #{number}: {pull_request.title} [{pull_request.labels.1.name}]', payload)).toBe(
      'PR #7: Fix it [ui]',
    );
  });

  it('leaves a path that is not there as written', () => {
    const payload = { a: { b: 'text' }, list: [1] };
    for (const template of [
      '{missing}',
      '{a.c}',
      '{a.b.c}',
      '{list.1}',
      '{list.01}',
      '{list.-1}',
      '{}',
      '{a b}',
      '{.}',
    ]) {
      expect(rendered(template, payload)).toBe(template);
    }
  });

  it('reads keys with a hyphen', () => {
    expect(
      rendered('{event-data.id} {event-data.user-variables.a-b}', {
        'event-data': { id: 'x', 'user-variables': { 'a-b': 1 } },
      }),
    ).toBe('x 1');
  });

  it('reads headers, but none with a secret, and the payload first', () => {
    const header = headerReader(
      {
        'x-request-id': 'r-1',
        'x-acme': 'secret-1',
        authorization: 'Bearer secret-2',
        cookie: 'secret-3',
        'x-gitlab-token': 'secret-4',
        'x-hub-signature': 'secret-5',
        'set-cookie': ['secret-6'],
      },
      'x-acme',
    );
    const read = (template: string, payload: unknown = {}) =>
      compileTemplate(template).render({ payload, event: null, header });
    expect(read('{headers.x-request-id} {headers.X-Request-ID}')).toBe('r-1 r-1');
    const missing = compileTemplate('{headers.x-request-id} {headers.x-none}').missing({
      payload: {},
      event: null,
      header,
    });
    expect(missing).toEqual(['{headers.x-none}']);
    expect(read('{headers.x-request-id}', { headers: { 'x-request-id': 'signed' } })).toBe('signed');
    for (const name of [
      'x-acme',
      'Authorization',
      'cookie',
      'x-gitlab-token',
      'x-hub-signature',
      'set-cookie',
      'x-none',
    ]) {
      const template = `{headers.${name}}`;
      expect(read(template)).toBe(template);
      expect(compileTemplate(template).renderWhole({ payload: {}, event: null, header })).toBeNull();
    }
  });

  it('reaches only own data properties', () => {
    const payload = parseJsonBody(
      Buffer.from('{"list":[1,2],"text":"abc","own":{"__proto__":{"x":"mine"}}}'),
    );
    for (const template of [
      '{constructor}',
      '{__proto__}',
      '{toString.name}',
      '{list.length}',
      '{text.length}',
      '{text.0}',
      '{list.constructor.name}',
    ]) {
      expect(rendered(template, payload)).toBe(template);
    }
    expect(rendered('{own.__proto__.x}', payload)).toBe('mine');
  });

  it('writes scalars as JSON and strings unchanged', () => {
    expect(rendered('{n} {t} {z} {s}', { n: 1.5, t: true, z: null, s: '"q"' })).toBe('1.5 true null "q"');
  });

  it('keeps numbers that a double cannot hold', () => {
    const payload = parseJsonBody(
      Buffer.from('{"id":9007199254740993,"list":[12345678901234567890],"x":1.25}'),
    );
    expect(rendered('{id} {list.0} {x}', payload)).toBe('9007199254740993 12345678901234567890 1.25');
    expect(rendered('{list}', payload)).toBe('[\n  12345678901234567890\n]');
  });

  it('knows the event type; a key of the payload does not hide it', () => {
    expect(rendered('{event_type}', { event_type: 'other' })).toBe('push');
    expect(rendered('{event_type}', {}, null)).toBe('unknown');
  });

  it('writes objects as indented JSON cut at 2,000 characters and {__raw__} at 4,000', () => {
    const payload = { big: { text: 'x'.repeat(9000) } };
    expect(rendered('{big}', payload)).toBe(JSON.stringify(payload.big, null, 2).slice(0, 2000));
    expect(rendered('{__raw__}', payload)).toBe(JSON.stringify(payload, null, 2).slice(0, 4000));
    expect(rendered('{big.text}', payload)).toHaveLength(9000);
  });

  it('does not cut a character in two', () => {
    for (const shift of ['', 'x']) {
      const text = rendered('{__raw__}', [shift + '😀'.repeat(3000)]);
      expect(text.isWellFormed()).toBe(true);
      expect(text.length).toBeGreaterThanOrEqual(3999);
    }
  });

  it('does not render placeholders inside a value', () => {
    expect(rendered('{a}', { a: '{b} {__raw__}', b: 'no' })).toBe('{b} {__raw__}');
  });

  it('takes a list or a scalar as payload', () => {
    expect(rendered('{0.a}', [{ a: 1 }])).toBe('1');
    expect(rendered('{__raw__}{a}', 'text')).toBe('"text"{a}');
  });

  it('renders an id only if every part has a value', () => {
    const template = compileTemplate('{a}-{b}');
    expect(template.renderWhole({ payload: { a: 1, b: 2 }, event: null })).toBe('1-2');
    expect(template.renderWhole({ payload: { a: 1 }, event: null })).toBeNull();
  });
});

describe('placeholders that the payload has no value for', () => {
  const missing = (template: string, payload: unknown) =>
    compileTemplate(template).missing({ payload, event: null });

  it('are named once each, as written; a null is a value', () => {
    expect(missing('{a} {b.c} {b.c} {d} {event_type} {__raw__} {e}', { a: 1, b: {}, d: null })).toEqual([
      '{b.c}',
      '{e}',
    ]);
    expect(missing('no placeholder', {})).toEqual([]);
    expect(missing('{a}', 'text')).toEqual(['{a}']);
  });

  it('are left out if the route says so', () => {
    const template = compileTemplate('[{a}][{b}]', { leaveOut: true });
    expect(template.render({ payload: { a: 1 }, event: null })).toBe('[1][]');
    expect(template.renderWhole({ payload: { a: 1 }, event: null })).toBeNull();
  });
});
