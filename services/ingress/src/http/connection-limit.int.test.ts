import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { eventually } from '@angelia/testkit';
import { afterEach, expect, it } from '@jest/globals';
import { limitConnections } from './connection-limit.ts';

const MOST = 10;

let server: Server;
const sockets: Socket[] = [];

async function listen(slowMs?: number): Promise<void> {
  server = createServer({ keepAliveTimeout: 60_000 }, (_request, response) => response.end('ok'));
  limitConnections(server, () => MOST, slowMs);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await new Promise((resolve) => {
    server.close(resolve);
  });
});

interface Client {
  readonly answered: () => boolean;
  readonly closed: () => boolean;
}

function client(bytes: string): Client {
  const { port } = server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1', () => socket.write(bytes)).setEncoding('latin1');
  sockets.push(socket);
  let text = '';
  let closed = false;
  socket.on('data', (part: string) => {
    text += part;
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    closed = true;
  });
  return { answered: () => text.includes('ok'), closed: () => closed };
}

const WHOLE = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
const HALF = 'GET / HTTP/1.1\r\nhost: x\r\n';

it('idle connections are closed for new ones', async () => {
  await listen();
  const idle: Client[] = [];
  for (let n = 0; n < MOST - 2; n += 1) {
    const one = client(WHOLE);
    idle.push(one);
    await eventually(one.answered);
  }
  const late = client(WHOLE);
  await eventually(late.answered);
  await eventually(() => idle.every(({ closed }) => closed()));
});

it('the oldest connection without headers is closed for a new one', async () => {
  await listen(0);
  const slow: Client[] = [];
  for (let n = 1; n < MOST; n += 1) {
    slow.push(client(HALF));
    await eventually(async () => (await connections()) === Math.min(n, MOST - 2));
  }
  const late = client(WHOLE);
  await eventually(late.answered);
  await eventually(() => slow[0]?.closed() === true);
  expect(slow.at(-1)?.closed()).toBe(false);
});

it('beyond the limit new connections are closed', async () => {
  await listen();
  const busy = Array.from({ length: MOST }, () => client(HALF));
  await eventually(async () => (await connections()) === MOST);
  const late = client(WHOLE);
  await eventually(late.closed);
  expect(late.answered()).toBe(false);
  expect(busy.some(({ closed }) => closed())).toBe(false);
});

function connections(): Promise<number> {
  return new Promise((resolve) => {
    server.getConnections((_error, count) => resolve(count));
  });
}
