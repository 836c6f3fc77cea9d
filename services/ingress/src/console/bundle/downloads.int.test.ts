import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Downloads } from './downloads.ts';

/** More than the kernel takes for a client that does not read. */
const LARGE = Buffer.alloc(32 * 1024 * 1024, 'large');
const SMALL = Buffer.from(Array.from({ length: 50_000 }, (_, n) => n % 251));

let directory: string;
let server: Server;
let downloads: Downloads;
const sockets: Socket[] = [];

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'angelia-downloads-'));
  writeFileSync(join(directory, 'large'), LARGE);
  writeFileSync(join(directory, 'small'), SMALL);
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

afterAll(() => rmSync(directory, { recursive: true }));

async function listen(most: number, slowMs?: number): Promise<string> {
  downloads = new Downloads(most, slowMs);
  server = createServer(async ({ url = '' }, response) => {
    if (!downloads.begin(response)) {
      response.writeHead(503).end();
      return;
    }
    response.writeHead(200);
    await downloads.send(await open(join(directory, url)), response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Asks for the large file, and does not read it. */
async function slowClient() {
  const before = downloads.size.open;
  let closed = false;
  let received = 0;
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1', () => socket.write('GET /large HTTP/1.1\r\nhost: x\r\n\r\n'));
  sockets.push(socket);
  socket.on('data', (part) => {
    received += part.length;
  });
  socket.pause();
  socket.on('error', () => {});
  socket.on('close', () => {
    closed = true;
  });
  await eventually(() => downloads.size.open > before || before > 0);
  return { closed: () => closed, received: () => received, resume: () => socket.resume() };
}

it('a file arrives as it is, and its buffer serves the next ones', async () => {
  const base = await listen(4);
  for (let n = 0; n < 20; n += 1) {
    const body = Buffer.from(await (await fetch(`${base}/small`)).arrayBuffer());
    expect(body.equals(SMALL)).toBe(true);
  }
  const several = await Promise.all(
    Array.from({ length: 3 }, async () => Buffer.from(await (await fetch(`${base}/large`)).arrayBuffer())),
  );
  for (const body of several) expect(body.equals(LARGE)).toBe(true);
  await eventually(() => downloads.size.open === 0);
  expect(downloads.size.free).toBeLessThanOrEqual(3);
});

it('at the limit a new one is refused, as long as the others are not slow', async () => {
  const base = await listen(1);
  const slow = await slowClient();
  expect((await fetch(`${base}/small`)).status).toBe(503);
  expect(slow.closed()).toBe(false);
});

it('at the limit the oldest one that is slow gives way', async () => {
  const base = await listen(1, 0);
  const slow = await slowClient();
  const answer = await fetch(`${base}/small`);
  expect([answer.status, (await answer.arrayBuffer()).byteLength]).toEqual([200, SMALL.length]);
  slow.resume();
  await eventually(slow.closed);
  expect(slow.received()).toBeLessThan(LARGE.length);
  await eventually(() => downloads.size.open === 0);
});

it('a client that goes away in the middle makes room', async () => {
  const base = await listen(1);
  await slowClient();
  for (const socket of sockets.splice(0)) socket.destroy();
  await eventually(async () => (await fetch(`${base}/small`)).status === 200);
});
