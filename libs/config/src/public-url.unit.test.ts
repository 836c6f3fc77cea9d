import { parseConfig } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { publicUrlWarning } from './public-url.ts';

const models = { m: { provider: 'builtin', model: 'echo' } };
const asking = { default: { model: 'm', toolsets: ['clarify'] } };
const calling = (url: string) => ({ remote: { kind: 'http', url, secret: 's3cret' } });

function warning(raw: Record<string, unknown>, host = '127.0.0.1'): string | null {
  const parsed = parseConfig({ models, ...raw });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return publicUrlWarning(parsed.config, { host, port: 8644 });
}

describe('a warning about public_url', () => {
  it('comes while questions have links that only this machine can open', () => {
    expect(warning({ agents: asking })).toMatch(
      /^public_url: not set, so links begin with http:\/\/127\.0\.0\.1:8644, but questions of agents\.default/,
    );
    expect(warning({ agents: asking }, '0.0.0.0')).toContain('not set');
    expect(warning({ agents: asking, public_url: 'http://localhost:8644' })).toContain(
      'http://localhost:8644 is an address of this machine only',
    );
    expect(warning({ agents: asking, public_url: 'http://[::1]:8644' })).not.toBeNull();
  });

  it('comes while an agent elsewhere may call back', () => {
    expect(warning({ agents: calling('https://agents.example.com') })).toContain('agents.remote (kind http)');
    expect(warning({ agents: calling('http://127.0.0.1:9000') })).toBeNull();
  });

  it('does not come if the links can be opened, or nobody needs any', () => {
    expect(warning({ agents: { default: { model: 'm', toolsets: ['terminal'] } } })).toBeNull();
    expect(warning({ agents: asking, public_url: 'https://hooks.example.com' })).toBeNull();
    expect(warning({ agents: asking }, '10.1.2.3')).toBeNull();
  });
});
