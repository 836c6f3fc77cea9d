import { expect, it } from '@jest/globals';
import { atLeast, routesWith } from './route-state.ts';

it('routes are found by name, target and agent', () => {
  const routes = [
    { name: 'github-pr', definition: { deliver: 'telegram', agent: 'default' } },
    { name: 'alerts', definition: { deliver: 'log', agent: 'ops' } },
    { name: 'broken', definition: {} },
  ];
  const found = (text: string) => routesWith(routes, text).map(({ name }) => name);
  expect(found('TELE')).toEqual(['github-pr']);
  expect(found('ops')).toEqual(['alerts']);
  expect(found(' ')).toHaveLength(3);
});

it('a lower bound is shown as one', () => {
  expect([atLeast(12, true), atLeast(1_000, false)]).toEqual(['12', '1,000+']);
});
