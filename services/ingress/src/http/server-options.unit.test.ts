import { parseConfig } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import fastify from 'fastify';
import { httpServerOptions } from './server-options.ts';

describe('the public port', () => {
  it('has time and size limits that reach the server', async () => {
    const parsed = parseConfig({ limits: { max_body_bytes: 1234 } });
    if (!parsed.ok) throw new Error('config');
    const app = fastify(httpServerOptions(parsed.config));
    const { requestTimeout, headersTimeout, keepAliveTimeout } = app.server;
    expect({ requestTimeout, headersTimeout, keepAliveTimeout }).toEqual({
      requestTimeout: 30_000,
      headersTimeout: 10_000,
      keepAliveTimeout: 65_000,
    });
    expect(app.initialConfig.bodyLimit).toBe(1234);
    await app.close();
  });
});
