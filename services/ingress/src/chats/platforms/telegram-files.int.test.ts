import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { telegram } from './telegram.ts';

const TOKEN = '4711:test-bot-token';
const BYTES = 'x'.repeat(500);
let server: Server;
let path: string;
const asked: string[] = [];

/** getFile and the download of the Bot API. */
beforeEach(async () => {
  path = 'documents/file_1.txt';
  asked.length = 0;
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (request.url === `/bot${TOKEN}/getFile`) {
      const result = { file_id: 'f1', file_unique_id: 'u1', file_path: path };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ ok: true, result }));
    } else if (request.url === `/file/bot${TOKEN}/documents/file_1.txt`) response.end(BYTES);
    else response.writeHead(404).end('{"ok":false,"error_code":404,"description":"Not Found"}');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => {
    server.close(resolve);
  });
});

function fetchFile(mostBytes: number): Promise<Uint8Array> {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const settings = { chat: {}, target: { api_base: url, bot_token: TOKEN } };
  const file = { id: 'f1', name: 'a.txt', mimeType: 'text/plain', bytes: null };
  const call = { settings, signal: new AbortController().signal };
  return telegram.fetchFile?.(file, mostBytes, call) ?? Promise.reject(new Error('no fetchFile'));
}

describe('a file in Telegram', () => {
  it('is fetched by its path, within the bound', async () => {
    expect(Buffer.from(await fetchFile(500)).toString()).toBe(BYTES);
    await expect(fetchFile(499)).rejects.toThrow('could not be fetched');
  });

  it.each(['../bot/getMe', 'documents/missing.txt'])(
    'is not fetched from %s, and no error holds the token',
    async (given) => {
      path = given;
      const error = await fetchFile(500).catch((caught: Error) => caught);
      expect(error).toBeInstanceOf(Error);
      expect(String(error)).not.toContain('test-bot-token');
      expect(asked.filter((one) => one.includes('getMe'))).toEqual([]);
    },
  );
});
