import { VariableText } from '@angelia/config';
import { describe, expect, it } from '@jest/globals';
import { routeOf } from '../../testing/route.ts';
import type { TemplateValues } from '../payload/template.ts';
import type { Route } from '../route.ts';

const targets = (route: Route, given: TemplateValues) => ({
  deliver: route.deliver(given),
  fallbackTarget: route.fallbackTarget === null ? null : route.fallbackTarget(given),
});

const payload = { number: 7, url: 'http://10.0.0.1/', chat: -100, name: 'Ada', deep: { a: [1] } };
const values = { payload, event: 'pull_request' };

describe('where an answer goes', () => {
  it('is rendered at any depth; other values stay unchanged', () => {
    const route = routeOf({
      deliver: 'http',
      deliver_extra: {
        url: 'https://example.com/in',
        headers: { 'x-n': 'n{number}', 'x-fixed': 'as it is' },
      },
    });
    expect(targets(route, values).deliver).toEqual({
      target: 'http',
      to: { url: 'https://example.com/in', headers: { 'x-n': 'n7', 'x-fixed': 'as it is' } },
      untrusted_address: false,
    });
  });

  it('is untrusted if the payload decides a part of the address', () => {
    const of = (url: string) =>
      targets(routeOf({ deliver: 'http', deliver_extra: { url, headers: { a: '{name}' } } }), values);
    expect(of('{url}').deliver).toMatchObject({ to: { url: 'http://10.0.0.1/' }, untrusted_address: true });
    expect(of('https://example.com/{number}').deliver.untrusted_address).toBe(true);
    expect(of('https://example.com/fixed').deliver.untrusted_address).toBe(false);
  });

  it.each([
    '{url}',
    'https://{name}/',
    'https://example.com{name}',
    'https://example.com:{number}/',
    'http{name}://x/',
    'https://{event-data.host}/',
  ])('has an untrusted host: %s', (url) => {
    const extra = { url };
    const route = routeOf({
      deliver: 'http',
      deliver_extra: extra,
      fallback_target: { deliver: 'http', deliver_extra: extra },
    });
    const named = {
      ...values,
      payload: { ...payload, url: 'http://10.0.0.1/', name: 's', 'event-data': { host: 'x.example' } },
    };
    const { deliver, fallbackTarget } = targets(route, named);
    expect(deliver.untrusted_host).toBe(true);
    expect(fallbackTarget?.untrusted_host).toBe(true);
  });

  it.each(['https://example.com/{number}', 'https://example.com?x={name}', 'https://example.com/fixed'])(
    'has the host that the operator wrote: %s',
    (url) => {
      const route = routeOf({ deliver: 'http', deliver_extra: { url } });
      expect(targets(route, values).deliver).not.toHaveProperty('untrusted_host');
    },
  );

  it('is refused if the payload does not give a valid address', () => {
    const of = (target: Record<string, unknown>) => () => {
      const { deliver, fallbackTarget } = targets(routeOf(target), values);
      return { deliver, fallbackTarget };
    };
    const to = (url: string) => ({ deliver: 'http', deliver_extra: { url } });
    const refused = (reason: string) =>
      expect.objectContaining({ status: 400, code: 'bad_address', message: expect.stringContaining(reason) });
    expect(of(to('https://example.com/{missing}'))).toThrow(refused('the payload lacks a part of'));
    expect(of(to('{name}'))).toThrow(refused('deliver_extra.url of this route'));
    expect(of(to('ftp://{name}.example'))).toThrow(refused('is not an http or https URL'));
    expect(of({ fallback_target: to('{name}') })).toThrow(refused('deliver_extra.url'));
    const headers = { 'x-for': '{lines}' };
    const route = routeOf({ deliver: 'http', deliver_extra: { url: 'https://example.com', headers } });
    expect(() => targets(route, { ...values, payload: { lines: 'a\r\nx-b: c' } }).deliver).toThrow(
      refused('deliver_extra.headers.x-for of this route'),
    );
  });

  it('has a fallback that is rendered in the same way', () => {
    const route = routeOf({ fallback_target: { deliver: 'http', deliver_extra: { url: '{url}' } } });
    expect(targets(route, values).fallbackTarget).toEqual({
      target: 'http',
      to: { url: 'http://10.0.0.1/' },
      untrusted_address: true,
      untrusted_host: true,
    });
    expect(targets(routeOf({}), values).fallbackTarget).toBeNull();
  });
});

describe('an address that names environment variables', () => {
  const vars = new Map([
    ['HOOK', 'a-secret-path'],
    ['HOST', 'hooks.example.com'],
  ]);
  const text = (...parts: (string | { name: string })[]) => new VariableText(parts, vars);
  const [HOOK, HOST] = [{ name: 'HOOK' }, { name: 'HOST' }];

  it('is stored with their names and positions', () => {
    const route = routeOf({
      deliver: 'http',
      deliver_extra: {
        url: text('https://', HOST, '/x/', HOOK, '?n={number}&h=', HOOK),
        headers: { 'x-hook': text(HOOK), 'x-n': 'n{number}' },
      },
      fallback_target: { deliver: 'http', deliver_extra: { url: text('https://b.example/', HOOK) } },
    });
    const { deliver, fallbackTarget } = targets(route, values);
    expect(deliver).toEqual({
      target: 'http',
      to: {
        url: `https://\${HOST}/x/\${HOOK}?n=7&h=\${HOOK}`,
        headers: { 'x-hook': `\${HOOK}`, 'x-n': 'n7' },
      },
      untrusted_address: true,
      references: [
        { path: ['url'], at: 8, name: 'HOST' },
        { path: ['url'], at: 18, name: 'HOOK' },
        { path: ['url'], at: 32, name: 'HOOK' },
        { path: ['headers', 'x-hook'], at: 0, name: 'HOOK' },
      ],
    });
    expect(fallbackTarget).toMatchObject({ references: [{ path: ['url'], at: 18, name: 'HOOK' }] });
    expect(JSON.stringify([deliver, fallbackTarget])).not.toContain('a-secret-path');
  });

  it('takes no reference from a payload', () => {
    const attack = `\${HOOK}\u{fdd0}HOOK\${ANGELIA_MASTER_KEY}\u0000\ud800`;
    const route = routeOf({
      deliver: 'http',
      deliver_extra: {
        url: text('https://x.example/{text}/', HOOK, '/{text}'),
        headers: { 'x-a': '{word}' },
      },
    });
    const { deliver } = targets(route, { payload: { text: attack, word: `\${HOOK}` }, event: null });
    expect(deliver.references).toHaveLength(1);
    const [{ at, name } = { at: -1, name: '' }] = deliver.references ?? [];
    const url = String(deliver.to.url);
    expect([url.slice(at, at + 9), name]).toEqual([`\${HOOK}/$`, 'HOOK']);
    expect(url.lastIndexOf(`\${HOOK}/`, at)).toBe(at);
    expect(deliver.to.headers).toEqual({ 'x-a': `\${HOOK}` });
    const plain = routeOf({ deliver: 'http', deliver_extra: { url: 'https://x.example/{word}' } });
    expect(targets(plain, { payload: { word: `\${HOOK}` }, event: null }).deliver).not.toHaveProperty(
      'references',
    );
  });

  it('does not fill in placeholders in the value of a variable', () => {
    const braces = new VariableText(['https://x.example/', HOOK], new Map([['HOOK', '{number}']]));
    const { deliver } = targets(routeOf({ deliver: 'http', deliver_extra: { url: braces } }), values);
    expect(deliver).toMatchObject({ to: { url: `https://x.example/\${HOOK}` }, untrusted_address: false });
  });

  it('trusts the host that the operator wrote, also as a variable, and no other', () => {
    const of = (...parts: Parameters<typeof text>) =>
      targets(routeOf({ deliver: 'http', deliver_extra: { url: text(...parts) } }), {
        payload: { a: '', n: 1, name: '.evil.example' },
        event: null,
      }).deliver;
    const trusted = of('https://', HOST, '/fixed');
    expect(trusted.untrusted_address).toBe(false);
    expect(trusted).not.toHaveProperty('untrusted_host');
    expect(of('https://', HOST, '/{n}')).not.toHaveProperty('untrusted_host');
    expect(of('https://', HOST, '/{n}').untrusted_address).toBe(true);
    expect(of('https://', HOST, '{name}/', HOOK).untrusted_host).toBe(true);
    expect(of('https://', HOST, ':{n}/').untrusted_host).toBe(true);
  });

  it('is checked with its variables filled in', () => {
    const route = routeOf({ deliver: 'http', deliver_extra: { url: text('{name}://x/', HOOK) } });
    expect(() => targets(route, { payload: { name: 'ftp' }, event: null }).deliver).toThrow(
      'is not an http or https URL',
    );
    const mail = { targets: { email: { host: 'h', from: 'a@b.example' } } };
    const team = new VariableText(
      [{ name: 'TEAM' }, ', {who}'],
      new Map([['TEAM', 'a@x.example, b@x.example']]),
    );
    const to = routeOf({ deliver: 'email', deliver_extra: { to: team, subject: 'n{n}' } }, mail);
    expect(targets(to, { payload: { who: 'c@x.example', n: 1 }, event: null }).deliver.to).toEqual({
      to: `\${TEAM}, c@x.example`,
      subject: 'n1',
    });
    expect(() => targets(to, { payload: { who: 'nobody', n: 1 }, event: null }).deliver).toThrow(
      'is not a mail address',
    );
  });
});
