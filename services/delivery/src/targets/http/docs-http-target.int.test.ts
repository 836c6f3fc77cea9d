import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { httpTargetBody } from '@angelia/contracts';
import { systemClock } from '@angelia/sessions';
import { eventually } from '@angelia/testkit';
import { afterEach, describe, expect, it } from '@jest/globals';
import { claimTimes, openSendWindow, readClocks } from '../../attempt/send-window.ts';
import type { OutboundMessage, SendResult } from '../target.ts';
import { httpTarget } from './http.ts';

const page = readFileSync(new URL('../../../../../docs/targets.md', import.meta.url), 'utf8');
const section = page.slice(page.indexOf('## What an `http` target receives'));
const block = (language: string) => section.split(`\`\`\`${language}\n`)[1]?.split('\n```')[0] ?? '';

const SECRET = `whsec_${Buffer.from('twenty-four bytes of key').toString('base64')}`;
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function post(url: string, secret: string, over: Partial<OutboundMessage> = {}): Promise<SendResult> {
  const target = httpTarget();
  ends.push(() => target.close());
  const window = openSendWindow(readClocks(systemClock), claimTimes(5), systemClock);
  ends.push(() => window.close());
  const message: OutboundMessage = {
    type: 'final-response',
    sessionId: '018f2f6e-0000-7000-8000-000000000001',
    version: 5,
    route: 'hook',
    deliveryId: 'd-1',
    title: 'a push',
    text: 'Done: ✓ שלום',
    possibleDuplicate: false,
    ...over,
  };
  return target.send({
    message,
    chunk: { text: message.text },
    index: 0,
    count: 1,
    markDuplicate: false,
    earlier: [],
    recordedAt: 0,
    ageMs: 0,
    address: { to: { url }, untrusted: false, untrustedHost: false },
    settings: { secret },
    idempotencyKey: `${message.sessionId}.${message.version}`,
    secretKey: 'not used',
    window,
  });
}

async function receiver(): Promise<{
  url: string;
  received: { headers: IncomingMessage['headers']; body: string }[];
}> {
  const received: { headers: IncomingMessage['headers']; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    received.push({ headers: request.headers, body });
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received };
}

describe('docs/targets.md, what an http target receives', () => {
  it.each<Partial<OutboundMessage>>([
    {},
    { type: 'interim-status' },
    { type: 'clarification' },
    { possibleDuplicate: true },
  ])('is what is sent (%j), without a field more, and with the headers of the table', async (over) => {
    const { url, received } = await receiver();
    expect(await post(url, SECRET, over)).toMatchObject({ kind: 'taken' });
    const [first] = received;
    const body = JSON.parse(first?.body ?? '') as object;
    expect(httpTargetBody.safeParse(body).error).toBeUndefined();
    expect(Object.keys(httpTargetBody.shape)).toEqual(expect.arrayContaining(Object.keys(body)));
    const rows = [...section.matchAll(/^\| `([a-z-]+)` +\| /gm)].map(([, name]) => name as string);
    const headers = rows.slice(0, rows.indexOf('webhook-signature') + 1);
    expect(headers).toHaveLength(5);
    for (const name of headers) expect(first?.headers).toHaveProperty(name);
  });

  it('has a sample in TypeScript that takes our requests and refuses those of another secret', async () => {
    const child = spawn(
      process.execPath,
      ['--no-warnings', '--input-type=module-typescript', '-e', block('ts')],
      {
        // Where the library is installed.
        cwd: fileURLToPath(new URL('../../../', import.meta.url)),
        env: { PATH: process.env.PATH, ANGELIA_SECRET: SECRET, PORT: '0' },
      },
    );
    ends.push(() => child.kill('SIGKILL'));
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => {
        said += text.toString();
      });
    const port = await eventually(() => /port: (\d+)/.exec(said)?.[1], { describe: () => said });
    const url = `http://127.0.0.1:${port}/`;
    expect(await post(url, SECRET)).toEqual({ kind: 'taken', receipt: 'http 204' });
    await eventually(() => said.includes("text: 'Done: ✓ שלום'"), { describe: () => said });
    const other = `whsec_${Buffer.from('another key of 24 bytes.').toString('base64')}`;
    expect(await post(url, other)).toMatchObject({ kind: 'permanent' });
  });
});
