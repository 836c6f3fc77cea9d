import { VariableText } from '@angelia/config';
import { parseConfig } from '@angelia/contracts';
import { expect, it } from '@jest/globals';
import { configRouteJson } from './route-json.ts';

it('a route shows the names of the variables in its addresses, but not their values', () => {
  const url = new VariableText(
    ['https://x.example/', { name: 'HOOK' }],
    new Map([['HOOK', 'a-secret-path']]),
  );
  const parsed = parseConfig({
    routes: {
      r: {
        deliver: 'http',
        deliver_extra: { url, headers: { 'x-a': url } },
        fallback_target: { deliver: 'http', deliver_extra: { url } },
      },
    },
  });
  if (!parsed.ok || parsed.config.routes.r === undefined) throw new Error(JSON.stringify(parsed));
  const { definition } = configRouteJson('r', parsed.config.routes.r, 's3cret');
  expect(definition).toMatchObject({
    deliver_extra: { url: `https://x.example/\${HOOK}`, headers: { 'x-a': `https://x.example/\${HOOK}` } },
    fallback_target: { deliver_extra: { url: `https://x.example/\${HOOK}` } },
  });
  expect(JSON.stringify(definition)).not.toContain('a-secret-path');
});
