import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { eventually } from '@angelia/testkit';
import { pause } from '@angelia/waiting';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openWay, type Way } from './failing-network.ts';

let echo: Server;
let way: Way;
const clients: Socket[] = [];

beforeEach(async () => {
  echo = createServer((socket) => socket.on('error', () => {}).pipe(socket));
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
  way = await openWay(`nats://user:word@127.0.0.1:${(echo.address() as AddressInfo).port}`);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await way.close();
  await new Promise((resolve) => echo.close(resolve));
});

async function client(): Promise<{ socket: Socket; heard: () => string; gone: () => boolean }> {
  const socket = connect(Number(new URL(way.url).port), '127.0.0.1');
  clients.push(socket);
  let heard = '';
  let gone = false;
  socket.on('data', (data) => {
    heard += String(data);
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    gone = true;
  });
  // An error counts as the end of the connection.
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {});
  return { socket, heard: () => heard, gone: () => gone };
}

describe('the connection between a service and a server', () => {
  it('carries both ways, in order, under the same credentials', async () => {
    expect(way.url).toMatch(/^nats:\/\/user:word@127\.0\.0\.1:\d+$/);
    const one = await client();
    const long = 'x'.repeat(1_000_000);
    one.socket.write('begin ');
    one.socket.write(`${long} end`);
    await eventually(() => one.heard() === `begin ${long} end`);
  });

  it('is cut: open connections are reset, new ones work', async () => {
    const one = await client();
    way.cut();
    await eventually(one.gone);
    const two = await client();
    two.socket.write('again');
    await eventually(() => two.heard() === 'again');
  });

  it('refuses new connections until it is told not to', async () => {
    way.refuse(true);
    const one = await client();
    await eventually(one.gone);
    way.refuse(false);
    const two = await client();
    two.socket.write('again');
    await eventually(() => two.heard() === 'again');
  });

  it('delays both directions, and keeps the order when the delay ends', async () => {
    const one = await client();
    way.delay(100);
    const begin = performance.now();
    one.socket.write('a');
    await eventually(() => one.heard() === 'a');
    expect(performance.now() - begin).toBeGreaterThan(190);
    one.socket.write('b');
    way.delay(0);
    one.socket.write('c');
    await eventually(() => one.heard() === 'abc');
  });

  it('is silent, then everything arrives on the same connection', async () => {
    const one = await client();
    way.silence(true);
    one.socket.write('kept');
    const two = await client();
    two.socket.write('too');
    // Without the silence the data would have arrived many times over.
    await pause(200);
    expect([one.heard(), two.heard(), one.gone()]).toEqual(['', '', false]);
    way.silence(false);
    await eventually(() => one.heard() === 'kept' && two.heard() === 'too');
  });
});
