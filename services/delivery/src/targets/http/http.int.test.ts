import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@angelia/sessions';
import { selfSigned } from '@angelia/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { claimTimes, openSendWindow, readClocks } from '../../attempt/send-window.ts';
import type { OutboundMessage, SendResult, SendWindow, Target, TargetSettings } from '../target.ts';
import { httpTarget } from './http.ts';

const message: OutboundMessage = {
  type: 'final-response',
  sessionId: '018f2f6e-0000-7000-8000-000000000001',
  version: 5,
  route: 'hook',
  deliveryId: 'd-1',
  title: 'a push',
  text: 'Done: ✓ שלום',
  possibleDuplicate: false,
};

interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly path: string;
}

let target: Target;
let servers: { close(): unknown; closeAllConnections?(): void }[];
let received: Received[];

beforeEach(() => {
  target = httpTarget();
  servers = [];
  received = [];
});

afterEach(async () => {
  await target.close();
  for (const server of servers) {
    server.close();
    server.closeAllConnections?.();
  }
});

async function listening(onRequest: RequestListener): Promise<string> {
  const server: Server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      received.push({
        headers: request.headers,
        body: Buffer.concat(parts).toString('utf8'),
        path: request.url ?? '',
      });
      onRequest(request, response);
    });
    // Fires when the server cuts the connection in the middle.
    request.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function windowOf(requestTimeoutSeconds = 5): SendWindow {
  return openSendWindow(readClocks(systemClock), claimTimes(requestTimeoutSeconds), systemClock);
}

async function send(
  to: Record<string, unknown>,
  settings: TargetSettings = {},
  options: { untrusted?: boolean; untrustedHost?: boolean; window?: SendWindow } = {},
): Promise<SendResult> {
  const window = options.window ?? windowOf();
  try {
    return await target.send({
      message,
      chunk: { text: message.text },
      index: 0,
      count: 1,
      markDuplicate: false,
      recordedAt: 0,
      ageMs: 0,
      address: {
        to,
        untrusted: options.untrusted ?? false,
        untrustedHost: options.untrustedHost ?? false,
      },
      settings,
      idempotencyKey: `${message.sessionId}.${message.version}`,
      secretKey: 'not used',
      earlier: [],
      window,
    });
  } finally {
    window.close();
  }
}

describe('what is posted', () => {
  it('is the documented body with a stable webhook-id, signed so that the reference library accepts it', async () => {
    const url = await listening((_request, response) => response.writeHead(204).end());
    const secret = `whsec_${Buffer.from('twenty-four bytes of key').toString('base64')}`;
    expect(await send({ url: `${url}/path?x=1` }, { secret })).toEqual({
      kind: 'taken',
      receipt: 'http 204',
    });
    const [first] = received;
    expect(first?.path).toBe('/path?x=1');
    expect(first?.headers['webhook-id']).toBe('018f2f6e-0000-7000-8000-000000000001.5');
    const data = {
      session_id: message.sessionId,
      delivery_id: 'd-1',
      route: 'hook',
      text: message.text,
      version: 5,
    };
    expect(new Webhook(secret).verify(first?.body ?? '', first?.headers as Record<string, string>)).toEqual({
      type: 'final-response',
      ...data,
      possible_duplicate: false,
      timestamp: '1970-01-01T00:00:00.000Z',
      data,
    });
  });

  it('says who sends it, unless the config names another user agent', async () => {
    const url = await listening((_request, response) => response.writeHead(200).end());
    await send({ url });
    await send({ url }, { headers: { 'User-Agent': 'our-gateway/2' } });
    expect(received.map(({ headers }) => headers['user-agent'])).toEqual(['angelia', 'our-gateway/2']);
  });

  it('carries no signature without a secret', async () => {
    const url = await listening((_request, response) => response.writeHead(200).end());
    await send({ url });
    expect(received[0]?.headers['webhook-signature']).toBeUndefined();
    expect(received[0]?.headers['webhook-timestamp']).toMatch(/^\d+$/);
  });

  it('carries the headers of the target and of the route; the route wins', async () => {
    const url = await listening((_request, response) => response.writeHead(200).end());
    await send(
      { url, headers: { 'X-Team': 'b' } },
      { headers: { 'x-team': 'a', authorization: 'Bearer t' } },
    );
    expect(received[0]?.headers).toMatchObject({ 'x-team': 'b', authorization: 'Bearer t' });
  });

  it.each(['webhook-id', 'Webhook-Signature', 'Host', 'content-length', 'Transfer-Encoding'])(
    'does not let a route set %s',
    async (name) => {
      const url = await listening((_request, response) => response.writeHead(200).end());
      expect(await send({ url, headers: { [name]: 'forged' } })).toMatchObject({
        kind: 'permanent',
        reason: expect.stringContaining(name),
      });
      expect(received).toEqual([]);
    },
  );

  it('a header value with a line break is refused, and not repeated in the reason', async () => {
    const result = await send({ url: 'http://127.0.0.1:1', headers: { 'x-a': 'secret\r\nx-b: 1' } });
    expect(result).toEqual({
      kind: 'permanent',
      reason:
        'deliver_extra.headers.x-a: this is not a value of an HTTP header. Write one line of Latin letters.',
    });
  });
});

describe('a failure', () => {
  it('a refused connection means that nothing was sent', async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    expect(await send({ url: `http://127.0.0.1:${port}` })).toEqual({
      kind: 'retryable',
      reason: `not sent: no connection to http://127.0.0.1:${port} (ECONNREFUSED)`,
    });
  });

  it('a connection that is cut after the request was read leaves the outcome unknown', async () => {
    const url = await listening((request) => request.socket.destroy());
    expect(await send({ url })).toMatchObject({ kind: 'unknown' });
    expect(received).toHaveLength(1);
  });

  it('no answer within the time limit leaves the outcome unknown', async () => {
    const url = await listening(() => {});
    expect(await send({ url }, {}, { window: windowOf(0.2) })).toEqual({
      kind: 'unknown',
      reason: `no answer from ${url} in time`,
    });
  });

  it.each([
    { status: 200, result: { kind: 'taken' } },
    { status: 410, result: { kind: 'permanent', reason: expect.stringMatching(/: x{200}\.\.\.$/) } },
  ])('an endless $status does not hold the sender, and its connection is cut', async ({ status, result }) => {
    const url = await listening((_request, response) => {
      response.writeHead(status);
      const more = setInterval(() => response.write(Buffer.alloc(16 * 1024, 'x')), 1);
      response.on('close', () => {
        clearInterval(more);
        closed();
      });
    });
    let closed = () => {};
    const cut = new Promise<void>((resolve) => {
      closed = resolve;
    });
    expect(await send({ url })).toMatchObject(result);
    await cut;
  });

  it('a refusal is told in the words of the receiver, without our path, headers and secrets', async () => {
    const url = await listening((request, response) => {
      const { authorization } = request.headers;
      response.writeHead(404).end(`Cannot POST ${request.url}\n(${authorization})`);
    });
    const to = { url: `${url}/hooks/0123456789abcdef?key=also-secret` };
    expect(await send(to, { headers: { authorization: 'Bearer of-the-config' } })).toEqual({
      kind: 'permanent',
      reason: `http 404 from ${url}: Cannot POST [redacted] ([redacted])`,
    });
  });

  it('a refusal that breaks off is told as far as it came', async () => {
    const url = await listening((_request, response) => {
      response.writeHead(503, { 'content-length': '100' });
      response.write('closed for the night', () => response.destroy());
    });
    expect(await send({ url })).toEqual({
      kind: 'retryable',
      reason: `http 503 from ${url}: closed for the night`,
    });
  });

  it('an untrusted certificate is not accepted, and nothing is sent', async () => {
    const server = createTlsServer({ key: selfSigned.key, cert: selfSigned.cert }, (request, response) => {
      received.push({ headers: request.headers, body: '', path: request.url ?? '' });
      request.resume();
      response.writeHead(200).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    servers.push(server);
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await send({ url })).toEqual({
      kind: 'retryable',
      reason: `not sent: the certificate of ${url} was not accepted (DEPTH_ZERO_SELF_SIGNED_CERT)`,
    });
    expect(received).toEqual([]);
    await target.close();
    target = httpTarget({ ca: selfSigned.cert });
    expect(await send({ url })).toMatchObject({ kind: 'taken' });
  });

  it('a redirect is an error that names its origin, and is not followed', async () => {
    const elsewhere = await listening((_request, response) => response.writeHead(200).end());
    const url = await listening((_request, response) =>
      response.writeHead(307, { location: elsewhere }).end(),
    );
    expect(await send({ url })).toMatchObject({ kind: 'permanent', reason: expect.stringContaining('307') });
    expect(received).toHaveLength(1);
  });
});

describe('a claim that ran out of time', () => {
  it('sends nothing, although the connection is open and the timer has not fired', async () => {
    const url = await listening((_request, response) => response.writeHead(200).end());
    const frozen: SendWindow = {
      signal: new AbortController().signal,
      mayBegin: () => false,
      close: () => {},
    };
    expect(await send({ url }, {}, { window: frozen })).toEqual({
      kind: 'retryable',
      reason: 'not sent: the claim ran out of time',
    });
    expect(received).toEqual([]);
    // The pool still works.
    expect(await send({ url })).toMatchObject({ kind: 'taken' });
  });
});

describe('an address that may come from outside', () => {
  it('is refused if it is private, with the reason', async () => {
    const url = await listening((_request, response) => response.writeHead(200).end());
    expect(await send({ url }, {}, { untrusted: true })).toMatchObject({
      kind: 'permanent',
      reason: expect.stringContaining('address refused: 127.0.0.1 is not a public address'),
    });
    const byName = url.replace('127.0.0.1', 'localhost');
    expect(await send({ url: byName }, {}, { untrusted: true })).toMatchObject({
      kind: 'permanent',
      reason: expect.stringContaining('address refused: localhost leads to'),
    });
    expect(received).toEqual([]);
  });

  it('is refused even if a trusted route has just left an open connection to the same host', async () => {
    const url = (await listening((_request, response) => response.writeHead(200).end())).replace(
      '127.0.0.1',
      'localhost',
    );
    expect(await send({ url })).toMatchObject({ kind: 'taken' });
    expect(await send({ url }, {}, { untrusted: true })).toMatchObject({ kind: 'permanent' });
    expect(received).toHaveLength(1);
  });

  it('is used if the target allows private networks, or if it comes from the config file', async () => {
    const url = await listening((_request, response) => response.writeHead(200).end());
    expect(await send({ url }, { allow_private_networks: true }, { untrusted: true })).toMatchObject({
      kind: 'taken',
    });
    expect(await send({ url })).toMatchObject({ kind: 'taken' });
  });

  it('gets no credential of the config if its host comes from outside too, but the signature and its own headers', async () => {
    const url = await listening((_request, response) => response.writeHead(200).end());
    const settings = {
      allow_private_networks: true,
      secret: 'out-secret',
      headers: { Authorization: 'Bearer hunter2' },
    };
    const to = { url, headers: { 'x-own': 'yes' } };
    await send(to, settings, { untrusted: true, untrustedHost: true });
    await send(to, settings, { untrusted: true });
    const [stranger, operators] = received;
    expect(JSON.stringify(stranger?.headers)).not.toContain('hunter2');
    expect(stranger?.headers).toMatchObject({ 'x-own': 'yes', 'webhook-signature': expect.any(String) });
    expect(operators?.headers.authorization).toBe('Bearer hunter2');
  });
});

describe('an unusable address', () => {
  it.each([
    [{}, 'deliver_extra.url is missing'],
    [{ url: 'not a url' }, 'deliver_extra.url is not a URL'],
    [{ url: 'ftp://example.com/' }, 'is not http or https'],
    [{ url: 'https://user:hunter2@example.com/' }, 'user and password in a URL are not sent'],
  ])('%j is a permanent error', async (to, reason) => {
    const result = await send(to);
    expect(result).toMatchObject({ kind: 'permanent', reason: expect.stringContaining(reason) });
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });
});
