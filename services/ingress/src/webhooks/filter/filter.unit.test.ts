import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '@angelia/contracts';
import { afterAll, describe, expect, it } from '@jest/globals';
import { receivedOf, routeOf } from '../../testing/route.ts';
import { parseJsonBody } from '../payload/json-body.ts';
import { compileFilters, type FilterSubject } from './compile-filters.ts';
import { filterRefusal } from './filter.ts';

const directory = mkdtempSync(join(tmpdir(), 'angelia-filter-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const payload = {
  action: 'opened',
  number: 7,
  draft: false,
  body: null,
  labels: ['bug', 'urgent', 4],
  pull_request: { title: 'Fix the login', user: { login: 'ada' }, reviewers: [{ login: 'bob' }] },
  event: { type: 'message' },
};
const subject: FilterSubject = {
  payload,
  event: 'pull_request',
  headers: { 'x-kind': 'nightly', host: 'example.com' },
};

/** Parses the filters as the config file would. */
function matches(filters: unknown, more: Partial<FilterSubject> = {}): boolean {
  return refusal(filters, more) === null;
}

function refusal(filters: unknown, more: Partial<FilterSubject> = {}): string | null {
  const parsed = parseConfig({ routes: { hook: { filters } } });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const filter = compileFilters(parsed.config.routes.hook?.filters ?? []);
  return filter === null ? null : filter({ ...subject, ...more });
}

describe('operators', () => {
  it.each([
    [{ field: 'action', exists: true }, true],
    [{ field: 'action', exists: false }, false],
    [{ field: 'nope', exists: false }, true],
    [{ field: 'body', exists: true }, true],
    [{ field: 'nope', missing: true }, true],
    [{ field: 'action', missing: true }, false],
    [{ field: 'action', missing: false }, true],
    [{ field: 'action', equals: 'opened' }, true],
    [{ field: 'action', equals: 'closed' }, false],
    [{ field: 'number', equals: 7 }, true],
    [{ field: 'number', equals: '7' }, false],
    [{ field: 'draft', equals: 0 }, false],
    [{ field: 'draft', equals: false }, true],
    [{ field: 'body', equals: null }, true],
    [{ field: 'nope', equals: null }, false],
    [{ field: 'labels', equals: ['bug', 'urgent', 4] }, true],
    [{ field: 'labels', equals: ['bug', 'urgent'] }, false],
    [{ field: 'pull_request.user', equals: { login: 'ada' } }, true],
    [{ field: 'action', not_equals: 'closed' }, true],
    [{ field: 'action', not_equals: 'opened' }, false],
    [{ field: 'nope', not_equals: 'x' }, true],
    [{ field: 'labels', contains: 'bug' }, true],
    [{ field: 'labels', contains: 4 }, true],
    [{ field: 'labels', contains: 'bu' }, false],
    [{ field: 'pull_request', contains: 'user' }, true],
    [{ field: 'pull_request', contains: 'toString' }, false],
    [{ field: 'pull_request.title', contains: 'login' }, true],
    [{ field: 'number', contains: 7 }, true],
    [{ field: 'nope', contains: '' }, false],
    [{ field: 'action', in: ['opened', 'synchronize'] }, true],
    [{ field: 'action', in: ['closed', 1] }, false],
    [{ field: 'number', in: [1, 7] }, true],
    [{ field: 'nope', in: [null] }, false],
    [{ field: 'pull_request.title', regex: '^fix' }, false],
    [{ field: 'pull_request.title', regex: '(?i)^fix\\b' }, true],
    [{ field: 'number', regex: '^[0-9]$' }, true],
    [{ field: 'labels', regex: '"urgent"' }, true],
    [{ field: 'nope', regex: '.*' }, false],
    [{ not: { field: 'draft', equals: true } }, true],
    [{ not: { field: 'draft', equals: false } }, false],
    [
      {
        any: [
          { field: 'number', equals: 1 },
          { field: 'number', equals: 7 },
        ],
      },
      true,
    ],
    [
      {
        any: [
          { field: 'number', equals: 1 },
          { field: 'number', equals: 2 },
        ],
      },
      false,
    ],
    [
      {
        all: [
          { field: 'number', equals: 7 },
          { field: 'draft', equals: true },
        ],
      },
      false,
    ],
    [{ all: [{ any: [{ not: { field: 'draft', equals: true } }] }] }, true],
  ])('%j is %s', (filter, expected) => {
    expect(matches([filter])).toBe(expected);
  });

  it('must all hold if there are several; one may be given without a list', () => {
    const opened = { field: 'action', equals: 'opened' };
    expect(matches([])).toBe(true);
    expect(matches([opened, { field: 'number', equals: 7 }])).toBe(true);
    expect(matches([opened, { field: 'number', equals: 8 }])).toBe(false);
    expect(matches(opened)).toBe(true);
  });

  it('compare ids that a number cannot hold by their digits, in quotes', () => {
    const long = { payload: parseJsonBody(Buffer.from('{"id":12345678901234567890,"n":5,"half":0.5}')) };
    expect(matches({ field: 'id', equals: '12345678901234567890' }, long)).toBe(true);
    expect(matches({ field: 'id', equals: '12345678901234567891' }, long)).toBe(false);
    expect(matches({ field: 'id', in: ['12345678901234567890'] }, long)).toBe(true);
    expect(matches({ field: 'id', contains: '890' }, long)).toBe(true);
    expect(matches({ field: 'half', equals: 0.5 }, long)).toBe(true);
    expect(matches({ field: 'half', equals: '0.5' }, long)).toBe(false);
    expect(matches({ field: 'n', equals: 5 }, long)).toBe(true);
  });
});

describe('fields', () => {
  it.each([
    ['pull_request.reviewers.0.login', 'bob', true],
    ['pull_request.reviewers.1.login', 'bob', false],
    ['payload.action', 'opened', true],
    ['event', 'pull_request', true],
    ['event_type', 'pull_request', true],
    ['event.type', 'message', true],
    ['payload.event.type', 'message', true],
    ['headers.X-Kind', 'nightly', true],
    ['headers.x-kind', 'nightly', true],
  ])('%s', (field, value, expected) => {
    expect(matches({ field, equals: value })).toBe(expected);
  });

  it('of `payload.` are inside the payload of a provider that wraps it', () => {
    const wrapped = { payload: { payload: { labels: ['x'] }, action: 'outer' } };
    expect(matches({ field: 'payload.labels', contains: 'x' }, wrapped)).toBe(true);
    expect(matches({ field: 'payload.action', exists: true }, wrapped)).toBe(false);
    expect(matches({ field: 'action', equals: 'outer' }, wrapped)).toBe(true);
  });

  it('are own data properties only', () => {
    for (const field of [
      'constructor',
      'labels.length',
      'action.length',
      '__proto__',
      'headers.constructor',
    ]) {
      expect(matches({ field, exists: true })).toBe(false);
    }
  });

  it('are missing if the payload is a list, a scalar, or has no event', () => {
    expect(matches({ field: '0.a', equals: 1 }, { payload: [{ a: 1 }] })).toBe(true);
    expect(matches({ field: 'payload.0.a', equals: 1 }, { payload: [{ a: 1 }] })).toBe(true);
    expect(matches({ field: 'payload', equals: 3 }, { payload: 3 })).toBe(true);
    expect(matches({ field: 'a.b', exists: true }, { payload: null })).toBe(false);
    expect(matches({ field: 'event', missing: true }, { event: null })).toBe(true);
  });

  it('may be in a payload that is nested deeper than the stack allows', () => {
    const deep = parseJsonBody(Buffer.from(`{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`));
    expect(matches({ field: 'a', equals: [[]] }, { payload: deep })).toBe(false);
    expect(matches({ field: 'a', contains: 'x' }, { payload: deep })).toBe(false);
    expect(() => matches({ field: 'a', regex: 'x' }, { payload: deep })).toThrow('too long');
  });
});

describe('a pattern and a long value', () => {
  const MEGABYTE = 1024 * 1024;
  const ref = (value: unknown) => ({ payload: { ref: value } });
  const allowed = { field: 'ref', regex: '^refs/heads/[a-z]+$' };
  const forbidden = { not: { field: 'ref', regex: 'secret' } };

  it.each([17, 16_384, 100_000])('%i characters are searched to the end', (length) => {
    const good = `refs/heads/${'a'.repeat(length - 11)}`;
    expect(matches(allowed, ref(good))).toBe(true);
    expect(matches(allowed, ref(`${good} and more`))).toBe(false);
    expect(matches(forbidden, ref(good))).toBe(true);
    expect(matches(forbidden, ref(`${good}secret`))).toBe(false);
  });

  it('a list or an object is searched to the end too', () => {
    const long = ['a'.repeat(100_000), { note: 'secret' }];
    expect(matches({ field: 'ref', regex: 'secret' }, ref(long))).toBe(true);
    expect(matches(forbidden, ref(long))).toBe(false);
    expect(matches({ field: 'ref', regex: '^\\[\\s*"a+",?$' }, ref(long))).toBe(false);
  });

  const large = { field: 'ref', regex: '[ab]{1,900}c' };
  const tooLong = expect.objectContaining({ status: 413, code: 'filter_value_too_long' });
  const toLetItPass = [
    large,
    { not: large },
    { any: [large, { field: 'ref', exists: true }] },
    { all: [large] },
  ];
  it.each(toLetItPass)('what cannot be judged whole passes nothing: %j', (filter) => {
    for (const value of ['a'.repeat(MEGABYTE), Array.from({ length: 60_000 }, () => 'a')]) {
      expect(() => matches(filter, ref(value))).toThrow(tooLong);
    }
  });

  it('many patterns that together would cost too much are not run', () => {
    const one = { field: 'ref', regex: '[ab]{1,20}c' };
    const value = ref('a'.repeat(MEGABYTE));
    expect(matches({ not: one }, value)).toBe(true);
    expect(() =>
      matches(
        Array.from({ length: 5 }, () => ({ not: one })),
        value,
      ),
    ).toThrow(tooLong);
  });

  it('the patterns that a route may have can always search a value of 16,384 characters', () => {
    const most = Array.from({ length: 2 }, () => ({ not: { field: 'ref', regex: 'x{1,900}y' } }));
    expect(matches(most, ref('x'.repeat(16_384)))).toBe(true);
  });
});

describe('in_file', () => {
  const file = (name: string, text: string): string => {
    const path = join(directory, name);
    writeFileSync(path, text);
    return path;
  };

  it.each([
    ['list.json', '["opened", 7]'],
    ['keys.json', '{"opened": 1, "closed": 2}'],
    ['lines.txt', '\n opened \r\nclosed\n'],
  ])('%s', (name, text) => {
    const path = file(name, text);
    expect(matches({ field: 'action', in_file: path })).toBe(true);
    expect(matches({ field: 'pull_request.title', in_file: path })).toBe(false);
    expect(matches({ field: 'nope', in_file: path })).toBe(false);
  });

  it('is read again after a change; the sender is told to try again while it is gone', () => {
    const path = file('watch.txt', 'closed\n');
    const received = receivedOf(routeOf({ filters: [{ field: 'action', in_file: path }] }), {});
    const admitted = {
      kind: 'admitted',
      payload,
      event: null,
      delivery: { id: '1', from: 'sender' },
    } as const;
    const warnings: unknown[] = [];
    const logger = { warn: (...line: unknown[]) => warnings.push(line) };
    expect(filterRefusal(received, admitted, logger)).toContain('in_file');
    writeFileSync(path, 'closed\nopened\n');
    utimesSync(path, new Date(), new Date(Date.now() + 5_000));
    const real = performance.now;
    try {
      performance.now = () => real.call(performance) + 2_000;
      expect(filterRefusal(received, admitted, logger)).toBeNull();
      rmSync(path);
      performance.now = () => real.call(performance) + 4_000;
      expect(() => filterRefusal(received, admitted, logger)).toThrow(
        expect.objectContaining({ status: 503 }),
      );
      expect(warnings).toHaveLength(1);
      writeFileSync(path, 'closed\n');
      performance.now = () => real.call(performance) + 6_000;
      expect(filterRefusal(received, admitted, logger)).toContain('in_file');
    } finally {
      performance.now = real;
    }
  });
});

describe('what the operator is told about a filter that said no', () => {
  it.each([
    [
      [{ field: 'action', in: ['closed', 'merged'] }],
      'filters.0 (action in ["closed","merged"]): action was "opened"',
    ],
    [
      [
        { field: 'draft', equals: false },
        { field: 'nope', equals: 1 },
      ],
      'filters.1 (nope equals 1): nope is missing',
    ],
    [
      [{ field: 'labels', contains: 'idea' }],
      'filters.0 (labels contains "idea"): labels was ["bug","urgent",4]',
    ],
    [[{ field: 'event', equals: 'push' }], 'filters.0 (event equals "push"): event was "pull_request"'],
    [
      [
        {
          any: [
            { field: 'action', equals: 'closed' },
            { field: 'draft', equals: true },
          ],
        },
      ],
      'filters.0 (any): action was "opened", draft was false',
    ],
    [[{ not: { field: 'headers.x-kind', regex: 'night' } }], 'filters.0 (not): headers.x-kind was "nightly"'],
  ])('%j', (filters, expected) => {
    expect(refusal(filters)).toBe(expected);
  });

  it('is bounded, whatever the payload', () => {
    const long = {
      payload: { ref: 'x'.repeat(1_000_000), list: Array.from({ length: 100_000 }, () => 'y') },
    };
    for (const field of ['ref', 'list']) {
      const text = refusal({ field, equals: 'z'.repeat(5_000) }, long);
      expect(text).toContain('…');
      expect(text?.length).toBeLessThan(300);
    }
    const many = Array.from({ length: 40 }, (_, n) => ({ field: `f${n}`, exists: true }));
    expect(refusal({ any: many })).toMatch(/and 37 more$/);
  });

  it('has no value that may be a secret', () => {
    const secrets = {
      payload: {
        token: 'hush-1',
        auth: { api_key: 'hush-2' },
        nested: { any: 'hush-3' },
        list: [{ a: 'hush-4' }],
      },
      headers: { authorization: 'Bearer hush-5', 'x-hub-signature-256': 'sha256=hush-6' },
    };
    for (const field of [
      'token',
      'auth.api_key',
      'nested',
      'list',
      'headers.authorization',
      'headers.X-Hub-Signature-256',
    ]) {
      const text = refusal({ field, equals: 'other' }, secrets);
      expect(text).toContain(field);
      expect(text).not.toContain('hush');
    }
  });
});
