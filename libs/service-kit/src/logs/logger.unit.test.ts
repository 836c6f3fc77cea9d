import { secretsInUrl, secretValuesIn } from '@angelia/config';
import { isSecretKey } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { createLogger } from './logger.ts';

function logged(write: (logger: ReturnType<typeof createLogger>) => void, secrets: string[] = []) {
  const lines: string[] = [];
  const logger = createLogger({
    service: 'delivery',
    instance: 'delivery-1',
    level: 'info',
    secrets,
    destination: { write: (line: string) => lines.push(line) },
  });
  write(logger);
  return { text: lines.join(''), line: JSON.parse(lines[0] ?? '{}') as Record<string, unknown> };
}

describe('log lines', () => {
  it('are JSON with level label, ISO time, service, instance and the caller’s fields', () => {
    const { line } = logged((logger) => logger.info({ session_id: 's-1' }, 'claimed'));
    expect(line).toMatchObject({
      level: 'info',
      service: 'delivery',
      instance: 'delivery-1',
      session_id: 's-1',
      msg: 'claimed',
    });
    expect(new Date(String(line.time)).toISOString()).toBe(line.time);
  });

  it('hide a known secret wherever it appears', () => {
    const secret = 'tg-123456:AAH"quoted';
    const { text } = logged(
      (logger) => {
        logger.info(
          { url: `https://api.telegram.org/bot${secret}/send`, deep: { list: [`x${secret}y`] } },
          `sent with ${secret}`,
        );
        logger.error({ err: new Error(`401 for ${secret}`) }, 'failed');
        logger.info({ q: encodeURIComponent(secret) }, 'encoded');
        logger.child({ bound: secret }).info({}, 'child');
      },
      [secret],
    );
    expect(text).not.toContain('123456');
    expect(text.match(/\[redacted\]/g)?.length).toBeGreaterThanOrEqual(6);
  });

  describe('hide a known secret in every encoded form', () => {
    // Bytes that base64, URLs, JSON and HTML all encode differently.
    const secret = 'pä55/w+rd?>"&<é\' 0~x';
    const base64 = (text: string, encoding: 'base64' | 'base64url' = 'base64') =>
      Buffer.from(text).toString(encoding);
    const url = encodeURIComponent(secret);
    const html = (apostrophe: string) => `pä55/w+rd?&gt;&quot;&amp;&lt;é${apostrophe} 0~x`;
    it.each([
      ['base64', base64(secret)],
      ['base64url', base64(secret, 'base64url')],
      ['base64 of a user and it', base64(`ada:${secret}`)],
      ['base64 of a longer user and it', base64(`adas:${secret}`)],
      ['base64 of another user and it', base64(`adas2:${secret}`)],
      ['base64url, in the middle of a text', base64(`{"key":"${secret}","n":1}`, 'base64url')],
      ['a URL', url],
      ['a URL in lower case', url.replace(/%../g, (byte) => byte.toLowerCase())],
      ['a path', encodeURI(secret)],
      ['a form', new URLSearchParams({ secret }).toString().slice('secret='.length)],
      ['HTML', html('&#39;')],
      ['HTML with another apostrophe', html('&#x27;')],
      ['JSON', JSON.stringify(secret)],
      ['JSON of PHP', JSON.stringify(secret).replaceAll('/', '\\/')],
      ['JSON in JSON', JSON.stringify(JSON.stringify({ secret }))],
    ])('%s', (_form, encoded) => {
      const { line } = logged((logger) => logger.info({}, `refused: ${encoded} (401)`), [secret]);
      expect(line.msg).toMatch(/^refused: \S{0,16}\[redacted\]\S{0,16} \(401\)$/);
    });
  });

  it('hide values under keys that name a secret, known or not', () => {
    const { text } = logged((logger) =>
      logger.info(
        {
          headers: { authorization: 'abcdefgh', 'x-api-key': 'ijklmnop' },
          api_key: 'qrstuvwx',
          list: [{ botToken: 'yzabcdef' }],
        },
        'x',
      ),
    );
    for (const value of ['abcdefgh', 'ijklmnop', 'qrstuvwx', 'yzabcdef']) expect(text).not.toContain(value);
  });

  it('keep what only looks like a secret', () => {
    const { line } = logged((logger) =>
      logger.info({ max_tokens: 5, input_tokens: 7, session_key: 'pr-1' }, 'x'),
    );
    expect(line).toMatchObject({ max_tokens: 5, input_tokens: 7, session_key: 'pr-1' });
  });

  it('hide passwords in URLs and bearer tokens that nobody configured', () => {
    const { text } = logged((logger) =>
      logger.info({}, 'postgres://angelia:hunter22@db/x and Authorization: Bearer abc.def.ghi0'),
    );
    expect(text).not.toContain('hunter22');
    expect(text).not.toContain('abc.def');
    expect(text).toContain('postgres://angelia:');
  });

  it('hide the token of a signed link', () => {
    const { text } = logged((logger) =>
      logger.info({ url: '/answers/0192-a.5.mAc_1' }, 'see https://x.example/callbacks/0192-a.b.mAc_2?x=1'),
    );
    expect(text).not.toMatch(/0192-a|mAc/);
    expect(text).toContain('https://x.example/callbacks/[redacted]?x=1');
  });

  it('hide the link of a request for approval, and show its id in the API', () => {
    const { text } = logged((logger) =>
      logger.info({ url: '/approvals/0192-a.5.mAc_1', call: '/v1/approvals/0193-b.1' }, 'decided'),
    );
    expect(text).not.toMatch(/0192-a|mAc/);
    expect(text).toContain('/v1/approvals/0193-b.1');
  });

  it('show the type, message, code, stack and cause of an error, and nothing else of it', () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const error = Object.assign(new Error('could not send', { cause }), {
      code: 'target_down',
      retryable: true,
      request: { headers: { cookie: 'c00kie-value' } },
      detail: 'Key (email)=(a@b.c) exists',
    });
    const { line, text } = logged((logger) => logger.error({ err: error }, 'failed'));
    expect(line.err).toMatchObject({
      type: 'Error',
      message: 'could not send',
      code: 'target_down',
      retryable: true,
      cause: { code: 'ECONNREFUSED' },
    });
    expect(text).not.toContain('c00kie');
    expect(text).not.toContain('a@b.c');
  });

  it('accept an error as the only argument', () => {
    const { line } = logged((logger) => logger.error(new Error('boom')));
    expect(line).toMatchObject({ level: 'error', err: { message: 'boom' } });
  });

  it('survive an object that contains itself', () => {
    const loop: Record<string, unknown> = { name: 'loop' };
    loop.self = loop;
    const { line } = logged((logger) => logger.info({ loop }, 'x'));
    expect(line.msg).toBe('x');
  });
});

describe('finding secrets', () => {
  it('collects them from the config by the names of their keys', () => {
    expect(
      secretValuesIn({
        secret: 'a1',
        routes: { r: { secret: ['b2', 'c3'], prompt: 'no' } },
        models: { m: { api_key: 'd4', headers: { Authorization: 'e5', 'x-trace': 'no' } } },
        targets: { telegram: { bot_token: 'f6', chat_id: 'no' } },
      }).sort(),
    ).toEqual(['a1', 'b2', 'c3', 'd4', 'e5', 'f6']);
  });

  it('knows the password of a URL, and the token of a NATS URL', () => {
    expect(secretsInUrl('postgres://u:p%40ss@h/db')).toEqual(['p%40ss', 'p@ss']);
    expect(secretsInUrl('nats://t0ken@h:4222')).toContain('t0ken');
    expect(secretsInUrl('postgres://u@h/db')).toEqual([]);
  });

  it.each(['password', 'API_KEY', 'x-api-key', 'webhook_secret', 'set-cookie', 'adminToken'])(
    '%s names one',
    (key) => {
      expect(isSecretKey(key)).toBe(true);
    },
  );
  it.each(['tokenizer', 'max_steps', 'key', 'session_key', 'secretary'])('%s does not', (key) => {
    expect(isSecretKey(key)).toBe(false);
  });
});
