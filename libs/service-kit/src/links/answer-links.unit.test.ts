import { randomBytes } from 'node:crypto';
import { parseConfig, sessionId } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { answerLinks } from './answer-links.ts';
import { signedLinks } from './signed-links.ts';

const masterKey = randomBytes(32).toString('base64');
const question = { sessionId: sessionId('0192aaaa-0000-7000-8000-000000000001'), output: 12 };

function configOf(over: object = {}) {
  const parsed = parseConfig(over);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.config;
}

function linksOf(config: object, env: object = {}) {
  return answerLinks(configOf(config), {
    service: 'delivery',
    masterKey,
    host: '127.0.0.1',
    port: 8644,
    ...env,
  });
}

describe('the links of questions', () => {
  it('lead to public_url, or else to where ingress listens, and can be read', () => {
    for (const [config, env, base] of [
      [{ public_url: 'https://hooks.example.com/a/' }, {}, 'https://hooks.example.com/a'],
      [{}, {}, 'http://127.0.0.1:8644'],
      [{}, { host: '0.0.0.0', port: 9 }, 'http://127.0.0.1:9'],
      [{}, { host: '::' }, 'http://[::1]:8644'],
      [{}, { host: 'fd00::1' }, 'http://[fd00::1]:8644'],
    ] as const) {
      const links = linksOf(config, env);
      const url = links?.url(question) ?? '';
      expect(url.startsWith(`${base}/answers/`)).toBe(true);
      expect(links?.read(url.split('/').at(-1) ?? '')).toEqual(question);
    }
  });

  it('are not tokens signed for another purpose with the same key', () => {
    const links = linksOf({});
    const signed = signedLinks(masterKey, 'answer');
    expect(links?.read(signed.token(question.sessionId))).toBeNull();
    expect(links?.read(signed.token(question.sessionId, '0'))).toBeNull();
    expect(links?.read(signed.token(question.sessionId, '1', 'x'))).toBeNull();
    expect(links?.read(signed.token('abc', '1'))).toBeNull();
  });

  it('need the key if an agent may ask: the service does not start without it', () => {
    const asking = { agents: { helper: { toolsets: ['clarify'] } } };
    expect(() => linksOf(asking, { masterKey: undefined })).toThrow(
      /ANGELIA_MASTER_KEY \(environment of delivery\).*agent `helper`/,
    );
    expect(linksOf({ agents: { helper: {} } }, { masterKey: undefined })).toBeNull();
    expect(linksOf(asking)).not.toBeNull();
  });
});
