import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { createTestDatabase, type TestDatabase } from '@angelia/event-log/testing';
import { eventually } from '@angelia/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startIngress, type TestIngress } from '../../testing/ingress.ts';
import { rawBytes } from '../../testing/raw-request.ts';

const PAGE =
  '<!doctype html><title>Angelia</title><script type="module" src="/console/assets/app-1a2b.js"></script>';
const SCRIPT = `console.log(${JSON.stringify('x'.repeat(200_000))});`;

let database: TestDatabase;
let root: string;
let directory: string;
let ingress: TestIngress;

beforeAll(async () => {
  database = await createTestDatabase();
  root = mkdtempSync(join(tmpdir(), 'angelia-console-'));
  directory = join(root, 'dist');
  mkdirSync(join(directory, 'assets'), { recursive: true });
  writeFileSync(join(root, 'secret.txt'), 'outside');
  symlinkSync(join(root, 'secret.txt'), join(directory, 'assets/link.txt'));
  write('index.html', PAGE);
  write('assets/app-1a2b.js', SCRIPT);
  writeFileSync(join(directory, 'assets/.notes'), 'of the build');
  writeFileSync(join(directory, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  ingress = await start(directory);
});

afterAll(async () => {
  await ingress?.close();
  await database?.drop();
  rmSync(root, { recursive: true, force: true });
});

function write(name: string, text: string): void {
  writeFileSync(join(directory, name), text);
  writeFileSync(join(directory, `${name}.br`), brotliCompressSync(text));
  writeFileSync(join(directory, `${name}.gz`), gzipSync(text));
}

function start(consoleDirectory: string): Promise<TestIngress> {
  return startIngress({
    databaseUrl: database.url,
    config: { secret: 'webhook-secret-of-the-config', agents: { default: {} }, routes: { hook: {} } },
    consoleDirectory,
  });
}

interface Fetched {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** As it is on the wire: `fetch` would hide the encoding. */
function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Fetched> {
  return new Promise((resolve, reject) => {
    const lines = Object.entries({ host: '127.0.0.1', connection: 'close', ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    const socket = connect(ingress.port, '127.0.0.1', () =>
      socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`),
    );
    const parts: Buffer[] = [];
    socket.on('data', (part) => parts.push(part));
    socket.on('error', reject);
    socket.on('close', () => {
      const whole = Buffer.concat(parts);
      const end = whole.indexOf('\r\n\r\n');
      const [status = '', ...fields] = whole.subarray(0, end).toString('latin1').split('\r\n');
      resolve({
        status: Number(status.split(' ')[1]),
        headers: Object.fromEntries(fields.map((field) => field.toLowerCase().split(/: (.*)/s, 2))),
        body: whole.subarray(end + 4),
      });
    });
  });
}

describe('the page', () => {
  it.each([
    '/console',
    '/console/',
    '/console/sign-in',
    '/console/sessions/0192/deeper',
    '/console/index.html',
    '/console/nothing.js',
  ])('answers %s, never from a cache, and allows nothing that is not ours', async (path) => {
    const { status, headers, body } = await get(path);
    expect([status, body.toString()]).toEqual([200, PAGE]);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
    const policy = headers['content-security-policy'] ?? '';
    expect(policy).toMatch(/default-src 'none'/);
    expect(policy).toMatch(/frame-ancestors 'none'/);
    expect(policy).toMatch(/script-src 'self';/);
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
  });

  it('is compressed for whoever takes it', async () => {
    const { headers, body } = await get('/console', { 'accept-encoding': 'gzip, deflate, br' });
    expect(headers['content-encoding']).toBe('br');
    expect(brotliDecompressSync(body).toString()).toBe(PAGE);
  });

  it('is the new one after another build, without a restart, and so are its files', async () => {
    write('assets/app-3c4d.js', 'console.log(2)');
    write('index.html', PAGE.replace('1a2b', '3c4d'));
    utimesSync(join(directory, 'index.html'), new Date(), new Date(Date.now() + 5_000));
    await eventually(async () => (await get('/console')).body.toString().includes('3c4d'));
    expect((await get('/console/assets/app-3c4d.js')).status).toBe(200);
    write('index.html', PAGE);
    await eventually(async () => (await get('/console')).body.toString() === PAGE);
  });
});

describe('a file', () => {
  it.each([
    ['', null],
    ['identity', null],
    ['gzip', 'gzip'],
    ['GZIP;q=0.5', 'gzip'],
    ['gzip, br', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0.0, gzip;q=0', null],
    ['zstd', null],
  ])('for accept-encoding %j comes as %j, and is kept for ever', async (accept, encoding) => {
    const { status, headers, body } = await get('/console/assets/app-1a2b.js', { 'accept-encoding': accept });
    expect(status).toBe(200);
    expect(headers['content-encoding'] ?? null).toBe(encoding);
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-length': String(body.length),
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
    });
    const plain =
      encoding === 'br' ? brotliDecompressSync(body) : encoding === 'gzip' ? gunzipSync(body) : body;
    expect(plain.toString()).toBe(SCRIPT);
  });

  it('outside of assets is looked at again each time: its name stays when its content changes', async () => {
    const { headers } = await get('/console/favicon.svg', { 'accept-encoding': 'br' });
    expect(headers).toMatchObject({ 'content-type': 'image/svg+xml', 'cache-control': 'no-cache' });
    expect(headers['content-encoding']).toBeUndefined();
  });

  it('has the same headers for HEAD, and no body', async () => {
    for (const path of ['/console', '/console/assets/app-1a2b.js']) {
      const { date: _, ...whole } = (await get(path)).headers;
      const head = await get(path, {}, 'HEAD');
      expect([head.status, head.body.length]).toEqual([200, 0]);
      expect(head.headers).toMatchObject(whole);
    }
  });

  it.each([
    '/console/assets/unknown.js',
    '/console/assets/',
    '/console/assets/app-1a2b.js/',
    '/console/assets/../../secret.txt',
    '/console/assets/..%2f..%2fsecret.txt',
    '/console/assets/%2e%2e/%2e%2e/secret.txt',
    '/console/assets/link.txt',
    '/console/assets/.notes',
    '/console/assets/app-1a2b.js%00',
    '/console/assets/app-1a2b.js.br',
  ])('%s is not one', async (path) => {
    const { status, headers, body } = await get(path);
    expect([status, headers['cache-control']]).toEqual([404, 'no-store']);
    expect(body.toString()).not.toContain('outside');
  });

  it.each([
    '/console/../secret.txt',
    '/console/%2e%2e/secret.txt',
    '/console/..%5csecret.txt',
    '//secret.txt',
  ])('%s leads nowhere', async (path) => {
    expect((await get(path)).body.toString()).not.toContain('outside');
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('%s is not for files', async (method) => {
    for (const path of ['/console', '/console/assets/app-1a2b.js']) {
      expect([404, 405]).toContain((await get(path, {}, method)).status);
    }
  });
});

it('a console that is not built is one sentence that says how, and ingress works', async () => {
  const bare = await start(join(root, 'nothing'));
  try {
    const answer = await rawBytes(bare.port, 'GET /console HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    expect(answer.split('\r\n\r\n')[1]).toBe(
      'The console is not built (libs/console/dist is missing): `npm start` builds it.\n',
    );
    expect((await fetch(`${bare.baseUrl}/readyz`)).status).toBe(200);
  } finally {
    await bare.close();
  }
});
