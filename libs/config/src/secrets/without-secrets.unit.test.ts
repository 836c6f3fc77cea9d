import { expect, it } from '@jest/globals';
import { VariableText } from '../load/variable-text.ts';
import { shownConfig, withoutSecrets } from './without-secrets.ts';

const url = new VariableText(
  ['https://x.example/', { name: 'HOOK' }],
  new Map([['HOOK', 'a-secret-path-of-a-hook']]),
);

it('a shown config has no secret: not under its key, not in a list, not elsewhere, not as a value of a variable', () => {
  const config = {
    secret: ['first-secret', 'second-secret'],
    models: { main: { api_key: 'key-of-model', max_tokens: 7, headers: { 'x-team': 'any-header' } } },
    agents: { a: { env: { HOME: '/home/a', PLAIN: 'any-value' }, system: 'Say first-secret.' } },
    routes: { r: { deliver_extra: { url, headers: { authorization: 'Bearer abcdefgh' } } } },
  };
  expect(shownConfig(config)).toEqual({
    secret: ['[redacted]', '[redacted]'],
    models: { main: { api_key: '[redacted]', max_tokens: 7, headers: { 'x-team': '[redacted]' } } },
    agents: { a: { env: { HOME: '[redacted]', PLAIN: '[redacted]' }, system: 'Say [redacted].' } },
    routes: {
      r: { deliver_extra: { url: `https://x.example/\${HOOK}`, headers: { authorization: '[redacted]' } } },
    },
  });
});

it('a route shows its headers, without those that name a secret', () => {
  expect(withoutSecrets({ headers: { 'x-kind': 'a', token: 'b' }, url })).toEqual({
    headers: { 'x-kind': 'a', token: '[redacted]' },
    url: `https://x.example/\${HOOK}`,
  });
});
