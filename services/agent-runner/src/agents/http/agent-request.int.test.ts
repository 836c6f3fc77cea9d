import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { selfSigned } from '@angelia/testkit';
import { afterEach, expect, it } from '@jest/globals';
import { agentPoster } from './agent-request.ts';

let close: () => void = () => {};
afterEach(() => close());

it('the certificate of an agent is checked: an untrusted one gets neither prompt nor link', async () => {
  let asked = 0;
  const server = createServer({ key: selfSigned.key, cert: selfSigned.cert }, (request, response) => {
    asked += 1;
    request.resume();
    response.end('{"text":"over TLS"}');
  });
  close = () => {
    server.closeAllConnections();
    server.close();
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/turns`;
  const agent = { url, secret: 's', headers: {}, request_timeout_seconds: 10 };
  const request = { id: 'id', body: '{}', mayAnswerLater: true };
  const { signal } = new AbortController();
  await expect(agentPoster()(agent, request, signal)).rejects.toThrow('SELF_SIGNED_CERT');
  expect(asked).toBe(0);
  expect(await agentPoster({ ca: selfSigned.cert })(agent, request, signal)).toEqual({
    kind: 'text',
    text: 'over TLS',
  });
});
