import { readFileSync } from 'node:fs';
import { signatureHeaders, withTestStack } from '@angelia/testkit';
import { expect, it } from '@jest/globals';

const text = readFileSync(new URL('../../docs/angelia.example.yaml', import.meta.url), 'utf8');

it('docs/angelia.example.yaml starts as it is, and its route takes a webhook', async () => {
  // The list in the comment at its top, which is what somebody who pastes the file sees.
  const names = /these variables set: ([A-Z_, #\n]+)\./.exec(text)?.[1]?.match(/[A-Z_]{3,}/g) ?? [];
  expect(new Set(names)).toEqual(
    new Set(
      [...text.matchAll(/(?<!\$)\$\{([A-Z_]+)\}/g)].map(([, name]) => name).filter((name) => name !== 'NAME'),
    ),
  );
  const env = Object.fromEntries(
    names.map((name) => [name, name === 'TELEGRAM_TOKEN' ? '123:token' : `the-${name}`]),
  );
  await withTestStack({ config: text, env }, async (stack) => {
    const body = JSON.stringify({ action: 'opened', number: 7, pull_request: { id: 1, title: 'Mend it' } });
    const response = await fetch(`${stack.baseUrl}/webhooks/github-pr`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...signatureHeaders({ secret: 'the-WEBHOOK_SECRET', event: 'pull_request', deliveryId: 'd-1' }, body),
      },
      body,
    });
    const accepted = (await response.json()) as { session_id: string };
    expect([response.status, accepted]).toMatchObject([202, { status: 'accepted', route: 'github-pr' }]);
    const session = await stack.session(accepted.session_id);
    expect(session).toMatchObject({
      title: 'PR #7',
      deliver: { to: { url: 'https://example.com/answers' } },
    });
  });
});
