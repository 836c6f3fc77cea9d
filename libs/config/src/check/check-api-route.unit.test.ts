import { type Config, parseConfig } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { checkApiRoute } from './check-api-route.ts';

function configOf(more: object = {}): Config {
  const parsed = parseConfig({
    secret: 'of-the-operator',
    models: { m: { provider: 'builtin', model: 'echo' } },
    agents: {
      default: { model: 'm', toolsets: ['clarify'] },
      strong: { model: 'm', toolsets: ['clarify', 'terminal'] },
      program: { kind: 'command', command: ['claude', '-p'] },
      elsewhere: { kind: 'http', url: 'https://agent.example/', secret: 's' },
    },
    routes: { broken: { agent: 'nobody' } },
    ...more,
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.config;
}

function check(definition: Record<string, unknown>, config = configOf(), host = '127.0.0.1') {
  return checkApiRoute(config, 'hook', { secret: 's3cret', ...definition }, host);
}

const problems = (...given: Parameters<typeof check>) => {
  const checked = check(...given);
  return checked.ok ? [] : checked.problems.map(({ place }) => place);
};

describe('a route made by API', () => {
  it('is the only route of its config, and does not get the operator’s secret', () => {
    const checked = check({ prompt: 'p' });
    expect(checked).toMatchObject({ ok: true, route: { prompt: 'p', secret: 's3cret', deliver: 'log' } });
    if (!checked.ok) return;
    expect(Object.keys(checked.config.routes)).toEqual(['hook']);
    expect(checked.config.secret).toBeUndefined();
  });

  it('has the toolsets that its agent has now, not those it gets later', () => {
    expect(check({})).toMatchObject({ ok: true, route: { toolsets: ['clarify'] } });
  });

  it('cannot use an agent that is a program, unless `terminal` is allowed', () => {
    expect(problems({ agent: 'program' })).toEqual(['agent']);
    expect(problems({ agent: 'program', toolsets: [] })).toEqual(['agent']);
    const allowed = configOf({ api_routes: { allowed_toolsets: ['terminal'] } });
    expect(problems({ agent: 'program' }, allowed)).toEqual([]);
    expect(problems({ agent: 'elsewhere' })).toEqual([]);
  });

  it('has no toolsets with deliver_only', () => {
    const only = { deliver_only: true, deliver: 'http', deliver_extra: { url: 'https://example.com/in' } };
    const checked = check({ ...only, agent: 'strong' });
    expect(checked).toMatchObject({ ok: true, route: { deliver_only: true } });
    expect(checked.ok && checked.route.toolsets).toBeUndefined();
    expect(problems({ ...only, toolsets: ['clarify'] })).toEqual(['toolsets']);
  });

  it.each(['constructor', 'toString', '__proto__'])(
    'does not take a property of every object for an agent: %s',
    (agent) => {
      expect(problems({ agent })).toEqual(['agent']);
      expect(problems({ agent, toolsets: ['clarify'] })).toEqual(['agent']);
    },
  );

  it.each([
    'http://127.0.0.1:8080/in',
    'http://localhost/in',
    'http://api.localhost./in',
    'http://10.1.2.3/{path}',
    'http://2130706433/in',
    'http://169.254.169.254/latest/meta-data',
    'http://[::1]/in',
    'http://[::ffff:192.168.0.1]/in',
    'http://[fd00::1]:8080/in',
    'http://[fe80::1]/in',
  ])('is refused with the private address %s, unless private addresses are allowed', (url) => {
    const to = { deliver: 'http', deliver_extra: { url } };
    expect(problems(to)).toEqual(['deliver_extra.url']);
    expect(problems({ fallback_target: to })).toEqual(['fallback_target.deliver_extra.url']);
    expect(problems(to, configOf({ targets: { http: { allow_private_networks: true } } }))).toEqual([]);
  });

  it.each([
    'https://example.com/in',
    'https://8.8.8.8/in',
    'https://[2606:4700::1111]/in',
    'https://{host}/in',
    'http://10.{rest}/in',
    'https://example.com/127.0.0.1',
    '{reply_to}',
  ])('is accepted with %s', (url) => {
    expect(problems({ deliver: 'http', deliver_extra: { url } })).toEqual([]);
  });

  it.each([
    ['asks for one that is not allowed', { agent: 'strong', toolsets: ['clarify', 'terminal'] }],
    ['leaves its agent all of its own, of which one is not allowed', { agent: 'strong' }],
  ])('is refused when it %s', (_what, definition) => {
    expect(problems(definition)).toEqual(['toolsets']);
    const allowing = configOf({ api_routes: { allowed_toolsets: ['clarify', 'terminal'] } });
    expect(problems(definition, allowing)).toEqual([]);
  });

  it('may use none of its agent’s toolsets', () => {
    expect(check({ agent: 'strong', toolsets: [] })).toMatchObject({ ok: true, route: { toolsets: [] } });
  });

  it('has no script and no list from a file, at any depth', () => {
    expect(
      problems({
        script: 'x',
        retry_on_script_failure: true,
        filters: [{ field: 'a', equals: 1 }, { not: { all: [{ field: 'b', in_file: 'list.txt' }] } }],
      }),
    ).toEqual(expect.arrayContaining(['script', 'retry_on_script_failure', 'filters.1.not.all.0.in_file']));
    expect(problems({ filters: { field: 'b', in_file: 'list.txt' } })).toContain('filters.in_file');
  });

  it('may compare with the text `in_file`', () => {
    expect(problems({ filters: [{ field: 'in_file', equals: 'in_file' }] })).toEqual([]);
  });

  it('may be open on loopback only', () => {
    expect(problems({ secret: 'INSECURE_NO_AUTH' })).toEqual([]);
    expect(problems({ secret: 'INSECURE_NO_AUTH' }, configOf(), '0.0.0.0')).toEqual(['secret']);
    expect(problems({ secret: ['INSECURE_NO_AUTH', 'x'] })).toEqual(['secret']);
  });

  it('is not refused for problems of other routes', () => {
    expect(check({}).ok).toBe(true);
  });
});
