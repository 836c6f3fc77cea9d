import { expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { routeYaml } from './route-yaml.ts';

const schema = {
  properties: { enabled: { default: true }, events: { default: [] }, agent: { default: 'default' } },
};
const back = (settings: Record<string, unknown>): unknown =>
  parse(routeYaml('a-route', settings, schema)).routes['a-route'];

it('a route reads as in a config file', () => {
  const settings = {
    enabled: true,
    events: ['pull_request', 'Merge Request Hook'],
    agent: 'default',
    prompt: 'Look at {title}\n\nand say: yes\n',
    deliver_extra: { chat_id: '-100{chat}', silent: true },
    filters: [{ field: 'action', in: ['opened', null] }],
  };
  expect(routeYaml('a-route', settings, schema)).toBe(`routes:
  a-route:
    # secret: \${A_ROUTE_SECRET}
    events:
      - pull_request
      - Merge Request Hook
    prompt: |
      Look at {title}

      and say: yes
    deliver_extra:
      chat_id: "-100{chat}"
      silent: true
    filters:
      - field: action
        in:
          - opened
          - null
`);
});

it.each<[string, unknown]>([
  [
    'words with a meaning',
    ['true', 'no', 'null', '12', '1e3', '~', '', ' ', '- a', 'a: b', '#c', '{d}', '@e', "it's"],
  ],
  [
    'texts of several lines',
    ['a\nb', 'a\nb\n', 'a\nb\n\n', ' a\nb', 'a\n\n b', 'a\tb\nc', '\n', 'a \nb', 'x\r\ny'],
  ],
  ['what nests', { all: [{ any: [{ not: { field: 'a', equals: 1.5 } }, {}] }, [[], [1, [2]]]] }],
  ['other scripts', { 'ключ с пробелом': '日本語 👩‍👩‍👧', '\u2028': '\u202e' }],
])('%s come back as they are', (_, value) => {
  expect(back({ value })).toEqual({ value });
});
