import { describe, expect, it } from '@jest/globals';
import { secretValuesIn } from '../secrets/redaction.ts';
import { StartupError } from '../startup-error.ts';
import { addressVariables } from './address-variables.ts';
import { parseConfigDocument } from './config-document.ts';
import { parseConfigText } from './load.ts';
import type { VariableText } from './variable-text.ts';

const BASE = `
models: { e: { provider: builtin, model: echo } }
agents: { default: { model: e } }
`;

function load(route: string, env: Record<string, string>) {
  return parseConfigText(`${BASE}\nroutes: { r: { secret: s3cret-of-r, ${route} } }`, env, 'angelia.yaml');
}

describe('a variable in the address of a route', () => {
  const env = { HOOK: 'a-secret-path', HOST: 'hooks.example.com' };
  const config = load(
    `deliver: http, deliver_extra: { url: "https://\${HOST}/x/\${HOOK}/{n}", headers: { x-a: "$\${HOOK} \${HOOK}", x-b: plain } }, ` +
      `fallback_target: { deliver: http, deliver_extra: { url: "https://b.example/\${HOOK}" } }`,
    env,
  );
  const { deliver_extra, fallback_target } = config.routes.r ?? {};

  it('is kept by name, so that nothing that shows the config shows its value', () => {
    expect(JSON.parse(JSON.stringify([deliver_extra, fallback_target]))).toEqual([
      { url: `https://\${HOST}/x/\${HOOK}/{n}`, headers: { 'x-a': `\${HOOK} \${HOOK}`, 'x-b': 'plain' } },
      { deliver: 'http', deliver_extra: { url: `https://b.example/\${HOOK}` } },
    ]);
    expect(JSON.stringify(config)).not.toContain('a-secret-path');
  });

  it('differs from the same characters meant literally', () => {
    const headers = deliver_extra?.headers as Record<string, unknown>;
    expect((headers['x-a'] as VariableText).parts).toEqual([`\${HOOK} `, { name: 'HOOK' }]);
    expect(headers['x-b']).toBe('plain');
  });

  it('is hidden from the log', () => {
    expect(secretValuesIn(config)).toEqual(expect.arrayContaining(['a-secret-path']));
    const whole = load(`deliver: http, deliver_extra: { url: "\${URL}" }`, {
      URL: 'https://hooks.example.com/services/T0/B0/abc?key=12345678',
    });
    expect(secretValuesIn(whole)).toEqual(
      expect.arrayContaining(['/services/T0/B0/abc', '/services/T0/B0/abc?key=12345678', '12345678']),
    );
  });

  it.each([
    ['not set', {}, 'the environment variable HOOK is not set'],
    ['no address', { HOOK: 'ftp://example.com' }, 'deliver_extra.url: this is not an http or https URL'],
  ])('that is %s is refused at start', (_what, given, reason) => {
    const loading = () =>
      load(`deliver: http, deliver_extra: { url: "\${HOOK}" }`, given as Record<string, string>);
    expect(loading).toThrow(StartupError);
    expect(loading).toThrow(reason);
  });

  it('is absent in a route that names none', () => {
    const plain = load(`deliver: http, deliver_extra: { url: "https://x.example/$\${HOOK}" }`, env);
    expect(plain.routes.r?.deliver_extra.url).toBe(`https://x.example/\${HOOK}`);
  });
});

describe('the variables that an address may read when it is sent', () => {
  const { written: file } = parseConfigDocument(
    `
models: { m: { provider: openai, model: m1, api_key: "\${MODEL_KEY}" } }
routes:
  a: { secret: "\${ROUTE}", deliver_extra: { url: "https://x/\${HOOK}/\${SHARED}" } }
  b: { secret: "\${SHARED}", fallback_target: { deliver: http, deliver_extra: { headers: { x-a: "\${OTHER}" } } } }
`,
    'angelia.yaml',
  );
  const env = {
    ...{ HOOK: 'h', OTHER: 'o', SHARED: 's', LEFT: 'l', EMPTY: '' },
    ...{ MODEL_KEY: 'k', ROUTE: 'r', DATABASE_URL: 'd', ANGELIA_MASTER_KEY: 'm', NATS_TOKEN: 'n' },
  };
  const variables = addressVariables(file, env);

  it.each(['HOOK', 'OTHER', 'SHARED'])('include what routes name: %s', (name) => {
    expect(variables(name)).toEqual({ value: env[name as keyof typeof env] });
  });

  it('include what a deleted route named: its sessions still exist', () => {
    expect(variables('LEFT')).toEqual({ value: 'l' });
  });

  it.each(['MODEL_KEY', 'ROUTE', 'DATABASE_URL', 'ANGELIA_MASTER_KEY', 'NATS_TOKEN'])(
    'is not what is for something else: %s',
    (name) => {
      expect(variables(name)).toEqual({ reason: expect.stringContaining(`${name} is for something else`) });
    },
  );

  it.each(['NOWHERE', 'EMPTY', 'constructor'])('are reported as missing if they are: %s', (name) => {
    expect(variables(name)).toEqual({ reason: expect.stringContaining(`${name} is not set`) });
  });
});
