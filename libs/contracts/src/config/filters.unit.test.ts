import { describe, expect, it } from '@jest/globals';
import { parseConfig } from './config.ts';

const problems = (filters: unknown) => {
  const parsed = parseConfig({ routes: { r: { filters } } });
  return parsed.ok ? [] : parsed.problems;
};

describe('filters that are refused, with their place', () => {
  it.each([
    [[{ field: 'a' }], 'routes.r.filters.0', 'has exactly one of exists'],
    [[{ field: 'a', equals: 1, in: [2] }], 'routes.r.filters.0', 'has exactly one of exists'],
    [[{ equals: 1 }], 'routes.r.filters.0', 'has no `field`'],
    [[{ field: 'a', exist: true }], 'routes.r.filters.0.exist', 'unknown key `exist`'],
    [[{ field: 'a..b', exists: true }], 'routes.r.filters.0', 'is not a path'],
    [[{ field: '', exists: true }], 'routes.r.filters.0', 'is not a path'],
    [[{ field: 'headers', exists: true }], 'routes.r.filters.0', 'Name a header'],
    [[{ field: 'a', exists: 'yes' }], 'routes.r.filters.0.exists', 'true or false'],
    [[{ field: 'a', in: 'opened' }], 'routes.r.filters.0.in', 'is not a list'],
    [[{ field: 'a', in: [] }], 'routes.r.filters.0.in', 'never matches'],
    [[{ field: 'a', regex: 'x'.repeat(1001) }], 'routes.r.filters.0.regex', 'at most 1000'],
    [[{ field: 'a', equals: Number('12345678901234567890') }], 'routes.r.filters.0', 'Put it in quotes'],
    [[{ field: 'a', in: [{ id: 2 ** 60 }] }], 'routes.r.filters.0', 'Put it in quotes'],
    [[{ field: 'a', all: [{ field: 'b', exists: true }] }], 'routes.r.filters.0', 'no `field` of its own'],
    [[{ any: [] }], 'routes.r.filters.0.any', 'the list is empty'],
    [[{ not: { any: [{ field: 'a' }] } }], 'routes.r.filters.0.not.any.0', 'has exactly one of exists'],
    ['opened', 'routes.r.filters', 'is not a list'],
    [[7], 'routes.r.filters.0', 'object'],
  ])('%j', (filters, place, reason) => {
    expect(problems(filters)).toContainEqual({ place, reason: expect.stringContaining(reason) });
  });

  it('include those that are nested too deep or too large, without a stack overflow', () => {
    let deep: unknown = { field: 'a', exists: true };
    for (let depth = 0; depth < 50_000; depth += 1) deep = { not: deep };
    expect(problems([deep])).toEqual([
      { place: 'routes.r.filters', reason: expect.stringContaining('nested too deep') },
    ]);
    expect(problems([{ field: 'a', in: Array.from({ length: 20_000 }, (_, n) => n) }])).toEqual([
      { place: 'routes.r.filters', reason: expect.stringContaining('in_file') },
    ]);
  });
});

describe('skills', () => {
  it.each(['../secret', 'a/b', '.hidden', 'a.md', '', 'x'.repeat(64)])(
    'are refused if the name is not valid: %j',
    (name) => {
      const parsed = parseConfig({ routes: { r: { skills: [name] } } });
      expect(parsed).toMatchObject({ ok: false, problems: [{ place: 'routes.r.skills.0' }] });
    },
  );
});
