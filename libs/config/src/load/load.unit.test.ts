// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is the syntax under test

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { configJsonSchema } from '@angelia/contracts';
import { afterAll, describe, expect, it } from '@jest/globals';
import { secretValuesIn } from '../secrets/redaction.ts';
import { secretEnvironmentOf } from '../secrets/secret-environment.ts';
import { StartupError, startupMessage } from '../startup-error.ts';
import { demoConfigPath } from './config-file.ts';
import { loadCommandConfig, loadConfig, parseConfigText } from './load.ts';

const BASE = `
models: { echo: { provider: builtin, model: echo } }
agents: { default: { model: echo } }
`;

function load(text: string, env: NodeJS.ProcessEnv = {}) {
  return parseConfigText(text, env, 'angelia.yaml');
}

function linesOf(text: string, env: NodeJS.ProcessEnv = {}): string[] {
  try {
    load(text, env);
  } catch (error) {
    if (error instanceof StartupError) return startupMessage(error).trimEnd().split('\n');
    throw error;
  }
  return [];
}

describe('variables in the config', () => {
  it('fills ${NAME} in every string, lists included', () => {
    const config = load(`${BASE}\nroutes: { r: { secret: ["\${A}", "x-\${B}-y"] } }`, {
      A: 'number-one',
      B: 'two',
    });
    expect(config.routes.r?.secret).toEqual(['number-one', 'x-two-y']);
  });

  it('names a missing variable and its place', () => {
    expect(linesOf(`${BASE}\nroutes: { demo: { secret: "\${GITHUB_SECRET}" } }`)).toEqual([
      'angelia: routes.demo.secret: the environment variable GITHUB_SECRET is not set (angelia.yaml:5:27)',
    ]);
  });

  it('treats an empty variable as missing: an empty secret must not open a route', () => {
    expect(linesOf('secret: ${S}', { S: '' })).toHaveLength(1);
  });

  it('does not fill in variables inside the value of a variable', () => {
    expect(load('secret: ${A}', { A: '${BBB}', BBB: 'no' }).secret).toBe('${BBB}');
  });

  it('turns $${NAME} into a literal ${NAME}', () => {
    expect(load('secret: $${AAA}').secret).toBe('${AAA}');
  });

  it('refuses a reference that it cannot read instead of passing it on', () => {
    expect(linesOf('secret: ${A:-default}', { A: 'x' })[0]).toContain('angelia: secret: `${A:-default}`');
  });

  it('leaves the braces of templates alone', () => {
    const config = load(`${BASE}\nroutes: { r: { secret: s3cret, prompt: "PR #{number} costs $5" } }`);
    expect(config.routes.r?.prompt).toBe('PR #{number} costs $5');
  });
});

describe('the environment of a program that is an agent', () => {
  const agent = (env: string) => {
    const text = `agents: { a: { kind: command, command: [x], env: { ${env} }, secret_env: [MARKED] } }`;
    const read = load(text, { SOME_TOKEN: 'from-a-token', SOME_MODEL: 'gpt-5-mini' }).agents.a;
    if (read?.kind !== 'command') throw new Error('no agent of kind command');
    return read;
  };

  it('has as secrets what a variable with the name of a secret filled in, and what the config marks', () => {
    const written = agent(
      'AUTH: "x ${SOME_TOKEN}", MODEL: "${SOME_MODEL}", MARKED: by-hand, PLAIN: "$${SOME_TOKEN}"',
    );
    expect(written.secret_env).toEqual(['MARKED', 'AUTH']);
    expect(secretEnvironmentOf(written)).toEqual(['x from-a-token', 'by-hand']);
    expect(secretValuesIn({ agents: { a: written } })).toEqual(['by-hand', 'x from-a-token']);
  });
});

describe('names that must exist', () => {
  it.each([
    ['routes: { r: { secret: s3cret, agent: nobody } }', 'routes.r.agent: no agent is named `nobody`'],
    [
      'routes: { r: { secret: s3cret, agent: constructor } }',
      'routes.r.agent: no agent is named `constructor`',
    ],
    ['routes: { r: { secret: s3cret, deliver: constructor } }', 'routes.r.deliver: no target is named'],
    ['routes: { r: { secret: s3cret, deliver: pigeon } }', 'routes.r.deliver: no target is named `pigeon`'],
    [
      'routes: { r: { secret: s3cret, fallback_target: { deliver: pigeon } } }',
      'routes.r.fallback_target.deliver: no target is named `pigeon`',
    ],
    ['targets: { pigeon: {} }', 'targets.pigeon: no target is named `pigeon`'],
    [
      'routes: { r: { secret: s3cret, auth: pigeon } }',
      'routes.r.auth: "pigeon" is not a value of `auth`. Use standard-webhooks, svix,',
    ],
    ['routes: { r: { secret: s3cret, auth: twilio } }', 'routes.r.auth: Twilio signs the URL'],
    ['targets: { http: { secrt: x } }', 'targets.http.secrt: unknown key `secrt`'],
    ['targets: { log: { x: 1 } }', 'targets.log.x: unknown key `x`'],
    [
      'routes: { r: { secret: s3cret, deliver: http, deliver_extra: { url: "https://x.example", headers: { X-Api-Key: k } } } }',
      'routes.r.deliver_extra.headers.X-Api-Key: this header looks like a credential, and would be written into the event log. Put it under `targets.http.headers`.',
    ],
    ['routes: { r: { secret: s3cret, deliver: http } }', 'routes.r.deliver_extra.url: '],
    [
      'routes: { r: { secret: s3cret, deliver: http, deliver_extra: { url: "https://x", uri: y } } }',
      'routes.r.deliver_extra.uri: unknown key `uri`',
    ],
    [
      'routes: { r: { secret: s3cret, toolsets: [terminal] } }',
      'routes.r.toolsets: agent `default` does not have the toolset `terminal`',
    ],
    ['routes: { r: {} }', 'routes.r.secret: a route needs a secret'],
    ['routes: { r: { secret: s } }', 'routes.r.secret: a secret has at least 6 characters'],
    ['routes: { r: { secret: "          " } }', 'routes.r.secret: a secret has at least 6 characters'],
    ['routes: { r: { secret: "s3     cr" } }', 'routes.r.secret: a secret has at least 6 characters'],
    ['routes: { r: { secret: whsec_s3 } }', 'routes.r.secret: a secret has at least 6 characters'],
    [
      'routes: { r: { secret: [a-long-secret, "\\n"] } }',
      'routes.r.secret: a secret has at least 6 characters',
    ],
    ['secret: s\nroutes: { r: {} }', 'secret: a secret has at least 6 characters'],
  ])('%s', (text, expected) => {
    const lines = linesOf(`${BASE}\n${text}`);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`angelia: ${expected}`);
  });

  it.each([
    ['agents: { a: { model: gone } }', 'agents.a.model: no model is named `gone`'],
    ['agents: { a: { model: constructor } }', 'agents.a.model: no model is named `constructor`'],
    ['agents: { a: {} }', 'agents.a.model: an agent of kind llm needs a model'],
    [
      'agents: { a: { kind: robot } }',
      'agents.a.kind: "robot" is not a kind of agent. Use llm, command or http.',
    ],
    [
      'agents: { a: { kind: command } }',
      'agents.a.command: the value is missing. Write the program and its arguments',
    ],
    [
      'agents: { a: { kind: command, command: "run me" } }',
      'agents.a.command: this is not a list. Write the program and its arguments',
    ],
    [
      'agents: { a: { kind: command, command: [x], toolsets: [] } }',
      'agents.a.toolsets: unknown key `toolsets`',
    ],
    ['agents: { a: { kind: command, command: [x], model: m } }', 'agents.a.model: unknown key `model`'],
    ['agents: { a: { kind: llm, model: m, command: [x] } }', 'agents.a.command: unknown key `command`'],
    [
      'agents: { a: { kind: http, secret: s3cret } }',
      'agents.a.url: the value is missing. Write one such as https://example.com.',
    ],
    [
      'agents: { a: { kind: http, url: "https://a.example" } }',
      'agents.a.secret: the value is missing. An agent of kind http needs a secret',
    ],
    [
      'agents: { a: { kind: http, url: "https://a.example", secret: "whsec_?" } }',
      'agents.a.secret: the part after whsec_ must be base64 and not empty',
    ],
    [
      'agents: { a: { kind: http, url: "https://a.example", secret: s, system: x } }',
      'agents.a.system: unknown key `system`',
    ],
    [
      'models: { e: { provider: builtin, model: echo } }\nagents: { a: { model: e, fallback_models: [e, gone] } }',
      'agents.a.fallback_models.1: no model is named `gone`',
    ],
    [
      'models: { e: { provider: builtin, model: echo } }\nagents: { a: { model: e, toolsets: [terminal, clarify, shell] } }',
      'agents.a.toolsets: no toolset is named `shell` (there are terminal, clarify)',
    ],
    [
      'models: { e: { provider: builtin, model: echo } }\nagents: { a: { model: e, toolsets: ["mcp:gone"] } }',
      'agents.a.toolsets: no toolset is named `mcp:gone`',
    ],
    [
      'api_routes: { allowed_toolsets: [process] }',
      'api_routes.allowed_toolsets: no toolset is named `process`',
    ],
  ])('%s', (text, expected) => {
    const lines = linesOf(text);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`angelia: ${expected}`);
  });

  it('uses the secret at the top for a route that has none', () => {
    expect(linesOf(`secret: s3cret\n${BASE}\nroutes: { r: {} }`)).toEqual([]);
  });

  it('reports each problem on its own line', () => {
    expect(linesOf(`${BASE}\nroutes: { a: { agent: x }, b: { deliver: y, secret: s3cret } }`)).toHaveLength(
      3,
    );
  });
});

describe('INSECURE_NO_AUTH', () => {
  const open = `${BASE}\nroutes: { r: { secret: INSECURE_NO_AUTH } }`;
  it.each(['127.0.0.1', 'localhost', '::1', '127.8.8.8', ''])('is accepted on loopback: %s', (host) => {
    expect(linesOf(open, { ANGELIA_HOST: host })).toEqual([]);
  });
  it.each(['0.0.0.0', '::', '192.168.1.4', '127.0.0.1.example.com', 'example.com'])(
    'is refused on %s',
    (host) => {
      expect(linesOf(open, { ANGELIA_HOST: host })[0]).toContain(
        'routes.r.secret: INSECURE_NO_AUTH is for loopback only',
      );
    },
  );
  it('is refused as the secret of all routes', () => {
    expect(linesOf('secret: INSECURE_NO_AUTH', { ANGELIA_HOST: '0.0.0.0' })).toHaveLength(1);
  });
  it('is refused beside real secrets', () => {
    expect(linesOf(`${BASE}\nroutes: { r: { secret: [a, INSECURE_NO_AUTH] } }`)).toHaveLength(1);
  });
});

describe('a secret that can never match by the scheme that the route names', () => {
  const of = (auth: string, secret: string) =>
    linesOf(`${BASE}\nroutes: { r: { auth: ${auth}, secret: ${JSON.stringify(secret)} } }`);
  const publicKey = `whpk_${Buffer.alloc(32, 1).toString('base64')}`;

  it.each([
    ['standard-webhooks', 'whsec_not base64', 'base64'],
    ['svix', 'whsec_!!!!!!', 'base64'],
    ['standard-webhooks', `whpk_${Buffer.alloc(31).toString('base64')}`, '32 bytes'],
    ['bearer', 'two words', 'no spaces'],
    ['bearer', 'trailing ', 'no spaces'],
    ['bearer', 'grüße!', 'ASCII'],
    ['bearer', publicKey, 'public key'],
    ['github', publicKey, 'public key'],
    ['{ scheme: hmac, header: X-Sig }', publicKey, 'public key'],
    ['discord', 'not-a-public-key', '64 hex digits'],
  ])('is refused: %s %s', (auth, secret, why) => {
    const [line, ...more] = of(auth, secret);
    expect(line).toMatch(/^angelia: routes\.r\.secret: /);
    expect(line).toContain(why);
    expect(line).not.toContain(secret);
    expect(more).toEqual([]);
  });

  it.each([
    ['standard-webhooks', publicKey],
    ['standard-webhooks', 'a plain text'],
    ['discord', 'ab'.repeat(32)],
    // Secrets of Stripe look like those of Standard Webhooks.
    ['stripe', 'whsec_not base64'],
  ])('is accepted where it can: %s %s', (auth, secret) => {
    expect(of(auth, secret)).toEqual([]);
  });

  it('is refused if it is the secret at the top, and accepted if the route may use another scheme', () => {
    const top = 'secret: whsec_not base64';
    expect(linesOf(`${top}\n${BASE}\nroutes: { r: { auth: svix } }`)).toHaveLength(1);
    expect(linesOf(`${top}\n${BASE}\nroutes: { r: {} }`)).toEqual([]);
  });
});

describe("a route's delivery_id", () => {
  const of = (id: string) =>
    linesOf(`${BASE}\nroutes: { r: { secret: s3cret, delivery_id: ${JSON.stringify(id)} } }`);

  it('without a placeholder is refused: every webhook would be a duplicate of the first', () => {
    for (const id of ['always', '{a b}', '{}'])
      expect(of(id)).toEqual([
        expect.stringMatching(
          /^angelia: routes\.r\.delivery_id: .*no placeholder.* \(angelia\.yaml:\d+:\d+\)$/,
        ),
      ]);
  });

  it.each(['{id}', 'x-{a.b.0}', '{event-data.id}', '{headers.x-request-id}'])('is accepted: %s', (id) => {
    expect(of(id)).toEqual([]);
  });
});

describe('settings of targets that the schema of a single key cannot judge', () => {
  it.each([
    ['http: { secret: whsec_ }', 'targets.http.secret: the part after whsec_ must be base64 and not empty'],
    ['http: { headers: { Host: x } }', 'targets.http.headers.Host: this header is set by Angelia'],
    ['email: { host: 127.0.0.1, from: a@b.c, user: u }', 'targets.email.user: a user needs a password'],
    ['email: { host: 127.0.0.1, from: a@b.c, password: p }', 'targets.email.user: a user needs a password'],
    [
      'email: { host: mail.example.com, from: a@b.c, user: u, password: p, security: none }',
      'targets.email.security: a password is not sent over an unencrypted connection',
    ],
  ])('%s is refused', (target, expected) => {
    const lines = linesOf(`targets: { ${target} }`);
    expect(lines).toEqual([expect.stringContaining(`angelia: ${expected}`)]);
  });

  it.each([
    'http: { secret: s, allow_private_networks: true }',
    'http: { secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw }',
    'email: { host: 127.0.0.1, from: a@b.c, user: u, password: p, security: none }',
    'email: { host: mail.example.com, from: a@b.c, security: none }',
    'email: { host: mail.example.com, from: a@b.c, user: u, password: p }',
  ])('%s is accepted', (target) => {
    expect(linesOf(`targets: { ${target} }`)).toEqual([]);
  });
});

describe('a route with deliver_only', () => {
  const placesOf = (keys: string) =>
    linesOf(`routes: { r: { secret: s3cret, deliver_only: true, ${keys} } }`).map(
      (line) => line.split(': ')[1],
    );

  it('needs a target, and no agent', () => {
    expect(placesOf('deliver: http, deliver_extra: { url: "https://example.com" }')).toEqual([]);
    expect(placesOf('prompt: x')).toEqual(['routes.r.deliver']);
    expect(placesOf('deliver: log')).toEqual(['routes.r.deliver']);
    expect(placesOf('deliver: nowhere')).toEqual(['routes.r.deliver']);
    expect(placesOf('deliver: http')).toEqual(['routes.r.deliver_extra.url']);
  });

  it('is refused with keys that only an agent acts on', () => {
    const http = 'deliver: http, deliver_extra: { url: "https://example.com" }';
    expect(placesOf(`${http}, skills: [a]`)).toEqual(['routes.r.skills']);
    expect(placesOf(`${http}, toolsets: [clarify]`)).toEqual(['routes.r.toolsets']);
    expect(placesOf(`${http}, session_key: k`)).toEqual(['routes.r.session_key']);
    expect(placesOf(`${http}, coalesce: { key: k }`)).toEqual(['routes.r.coalesce']);
  });
});

describe('the url of the http target', () => {
  const linesFor = (url: string) =>
    linesOf(
      `${BASE}\nroutes: { r: { secret: s3cret, deliver: http, deliver_extra: { url: ${JSON.stringify(url)} } } }`,
    );

  it.each([
    'https://example.com/in',
    'HTTP://example.com',
    'http://127.0.0.1:8080/in',
    'http://localhost/in',
    '{reply_to}',
    'http{s}://example.com',
    'https://{host}/in',
    'https://example.com:{port}/in',
    'https://[{address}]/in',
    'https://example.com/@{user}',
    'https://example.com/{path}?to=a@b',
  ])('may be %s', (url) => {
    expect(linesFor(url)).toEqual([]);
  });

  it.each([
    ['nonsense', 'is not a URL'],
    ['example.com/in', 'is not a URL'],
    ['https://', 'is not a URL'],
    ['ftp://example.com', 'is not an http or https URL'],
    ['file:///etc/passwd', 'is not an http or https URL'],
    ['example.com/{path}', 'is not a URL'],
    ['//{host}/in', 'is not a URL'],
    ['ftp://{host}', 'is not an http or https URL'],
    ['localhost:{port}', 'is not an http or https URL'],
    ['https://user:hunter2@example.com', 'targets.http.headers'],
    ['https://user@example.com', 'targets.http.headers'],
    ['https://user:hunter2@{host}/in', 'targets.http.headers'],
    ['https://user:{password}@example.com/in', 'targets.http.headers'],
  ])('is refused when it is %s', (url, says) => {
    expect(linesFor(url)).toEqual([expect.stringContaining('angelia: routes.r.deliver_extra.url: ')]);
    expect(linesFor(url)[0]).toContain(says);
    expect(linesFor(url)[0]).not.toContain('hunter2');
  });

  it('is checked in the fallback target too', () => {
    expect(
      linesOf(
        `${BASE}\nroutes: { r: { secret: s3cret, fallback_target: { deliver: http, deliver_extra: { url: x } } } }`,
      )[0],
    ).toContain('routes.r.fallback_target.deliver_extra.url: this is not a URL');
  });
});

describe('a pattern of a filter', () => {
  it('is refused with its place, however deeply it is nested', () => {
    const lines = linesOf(
      `${BASE}\nroutes: { r: { secret: s3cret, filters: [{ any: [{ not: { field: a, regex: "(?=x)" } }] }] } }`,
    );
    expect(lines).toEqual([
      expect.stringContaining('angelia: routes.r.filters.0.any.0.not.regex: invalid or unsupported'),
    ]);
  });
});

describe('retry_on_script_failure', () => {
  it('is refused without a script that could fail', () => {
    expect(linesOf(`${BASE}\nroutes: { r: { secret: s3cret, retry_on_script_failure: true } }`)[0]).toContain(
      'routes.r.retry_on_script_failure: ',
    );
  });
});

describe('coalesce, session_key and on_busy', () => {
  const placesOf = (keys: string) =>
    linesOf(`${BASE}\nroutes: { r: { secret: s3cret, ${keys} } }`).map((line) => line.split(': ')[1]);

  it('are accepted alone and together', () => {
    expect(placesOf('coalesce: { key: "{a}" }')).toEqual([]);
    expect(placesOf('session_key: "{a}", on_busy: interrupt')).toEqual([]);
    expect(placesOf('session_key: "{a}", coalesce: { key: "{a}" }, max_concurrency: 1')).toEqual([]);
  });

  it('are refused if they have no effect or contradict each other', () => {
    expect(placesOf('on_busy: reject')).toEqual(['routes.r.on_busy']);
    expect(placesOf('session_key: "{a}", coalesce: { key: "{b}" }')).toEqual(['routes.r.coalesce.key']);
    expect(placesOf('coalesce: { key: "{a}", window_seconds: 600 }')).toEqual([
      'routes.r.coalesce.max_wait_seconds',
    ]);
  });
});

describe('targets', () => {
  const TELEGRAM =
    'targets: { telegram: { bot_token: "123456:abcdefghijklmnopqrstuvwxyzABCDEFGHI", chat_id: -100, message_thread_id: 7 } }';
  const of = (route: string, targets = '') =>
    linesOf(`${BASE}\n${targets}\nroutes: { r: { secret: s3cret, ${route} } }`);

  it('need their required options if a route delivers to them', () => {
    expect(of('deliver: telegram, deliver_extra: { chat_id: 1 }')).toEqual([
      expect.stringContaining(
        'routes.r.deliver: target `telegram` is not configured: set `targets.telegram.bot_token`',
      ),
    ]);
    expect(of('deliver: telegram, deliver_extra: { chat_id: 1 }', TELEGRAM)).toEqual([]);
  });

  it('accept any token', () => {
    const odd = 'targets: { telegram: { bot_token: "a token/of?any#kind", api_base: "http://127.0.0.1:9" } }';
    expect(of('deliver: telegram, deliver_extra: { chat_id: home }', odd)).toEqual([]);
  });

  it.each([
    ['headers: { Content-Type: text/plain }', 'headers.Content-Type: this header is set by Angelia'],
    ['headers: { Webhook-Id: "{id}" }', 'headers.Webhook-Id: this header is set by Angelia'],
    [
      'headers: { Authorization: "Bearer {token}" }',
      'headers.Authorization: this header looks like a credential',
    ],
    ['headers: { "x y": z }', 'headers.x y: this is not a name of an HTTP header'],
    ['headers: { x-y: "a\\nb" }', 'headers.x-y: this is not a value of an HTTP header'],
  ])('refuse headers that no request can have: %s', (headers, problem) => {
    expect(of(`deliver: http, deliver_extra: { url: "https://x.test", ${headers} }`)).toEqual([
      expect.stringContaining(`routes.r.deliver_extra.${problem}`),
    ]);
  });

  it('refuse such headers in the options too', () => {
    expect(of('prompt: x', 'targets: { http: { headers: { Host: x, Authorization: "a\\nb" } } }')).toEqual([
      expect.stringContaining('targets.http.headers.Host: this header is set by Angelia'),
      expect.stringContaining('targets.http.headers.Authorization: this is not a value of an HTTP header'),
    ]);
  });

  it('give defaults to an empty address, and skip placeholders until they are filled in', () => {
    expect(of('deliver: telegram', TELEGRAM)).toEqual([]);
    expect(of('deliver: telegram, deliver_extra: { chat_id: "{chat.id}" }', TELEGRAM)).toEqual([]);
    expect(of('deliver: telegram, deliver_extra: { chat_id: "the door" }', TELEGRAM)).toEqual([
      expect.stringContaining('routes.r.deliver_extra.chat_id'),
    ]);
    expect(of('deliver: telegram, deliver_extra: { chat_id: 1, colour: red }', TELEGRAM)).toEqual([
      expect.stringContaining('unknown key `colour`'),
    ]);
    expect(of('deliver: http, deliver_extra: { url: "ftp://{host}" }')).toEqual([
      expect.stringContaining('routes.r.deliver_extra.url: this is not an http or https URL'),
    ]);
  });

  it('allow `interim: edit` only if they can edit', () => {
    expect(of('deliver: telegram, interim: edit', TELEGRAM)).toEqual([]);
    expect(of('deliver: http, deliver_extra: { url: "https://x.test" }, interim: edit')).toEqual([
      expect.stringMatching(
        /routes\.r\.interim: target `http` cannot edit what it sent \(.*telegram.* can\)/,
      ),
    ]);
  });
});

describe('files', () => {
  it('refuses an alias without an anchor with a sentence', () => {
    expect(linesOf('secret: *nowhere')).toEqual([
      'angelia: config file angelia.yaml:1:9: the alias *nowhere has no anchor. Write &nowhere before the value that it repeats, above this place.',
    ]);
  });

  it('never shows the password in a URL that cannot be parsed', () => {
    const lines = linesOf('targets: { telegram: { bot_token: t, api_base: "https://user:s3cr3tpw@x y" } }');
    expect(lines[0]).toContain('targets.telegram.api_base: this is not an http or https URL');
    expect(lines.join()).not.toContain('s3cr3tpw');
  });

  it('refuses an empty file, which would drop every route', () => {
    const path = join(mkdtempSync(join(tmpdir(), 'angelia-empty-')), 'angelia.yaml');
    for (const text of ['', '\n\n', '# only a comment\n']) {
      writeFileSync(path, text);
      for (const load of [loadConfig, loadCommandConfig]) {
        expect(() => load({ ANGELIA_CONFIG: path })).toThrow('angelia.yaml:1:1: the file is empty');
      }
    }
    writeFileSync(path, '{}');
    expect(loadConfig({ ANGELIA_CONFIG: path }).config.routes).toEqual({});
    rmSync(dirname(path), { recursive: true });
  });

  it('refuses a duplicate key', () => {
    expect(linesOf('secret: a\nsecret: b')).toHaveLength(1);
  });

  it('says which file is missing', () => {
    expect(() => loadConfig({ ANGELIA_CONFIG: '/nowhere/angelia.yaml' })).toThrow(
      'config file /nowhere/angelia.yaml: there is no such file',
    );
  });

  it('has a demo config that needs only its secret', () => {
    const config = parseConfigText(
      readFileSync(demoConfigPath, 'utf8'),
      { ANGELIA_DEMO_SECRET: 's3cret' },
      'demo',
    );
    expect(config.routes.demo).toMatchObject({ secret: 's3cret', deliver: 'log', agent: 'default' });
    expect(config.models.echo).toEqual({ provider: 'builtin', model: 'echo' });
    expect(linesOf(readFileSync(demoConfigPath, 'utf8'))[0]).toContain('ANGELIA_DEMO_SECRET is not set');
  });
});

describe('docs/angelia.example.yaml', () => {
  const text = readFileSync(new URL('../../../../docs/angelia.example.yaml', import.meta.url), 'utf8');
  const env = {
    WEBHOOK_SECRET: 'of-all-webhooks',
    MODEL_KEY: 'k',
    ANTHROPIC_KEY: 'a',
    OUTGOING_SECRET: 'o',
    TELEGRAM_TOKEN: '1:t',
    SLACK_TOKEN: 't',
    DISCORD_TOKEN: 't',
    GITHUB_TOKEN: 't',
    SMTP_PASSWORD: 'p',
    MATRIX_TOKEN: 't',
    MATTERMOST_TOKEN: 't',
    TELEGRAM_CHAT_SECRET: 'sixteen-characters',
  };

  it('is a config that starts', () => {
    expect(linesOf(text, env)).toEqual([]);
  });

  it('shows every key', () => {
    const missing = [...keysOf(configJsonSchema())].filter((key) => !new RegExp(`\\b${key}:`).test(text));
    expect(missing).toEqual([]);
  });

  it('shows the real defaults', () => {
    const shown = load(text, env);
    const { models, agents, routes } = shown;
    const bare = load(
      `secret: of-all-webhooks
models: { main: { provider: openai-compatible, base_url: "http://127.0.0.1:9000/v1", model: m1 }, demo: { provider: builtin, model: echo } }
agents: { default: { model: main } }`,
    );
    const named = { models: {}, agents: {}, mcp_servers: {}, routes: {}, chats: {}, targets: {}, secret: '' };
    expect({ ...shown, ...named }).toEqual({ ...bare, ...named });
    expect(shown.mcp_servers.search?.timeout_seconds).toBe(shown.mcp_servers.files?.timeout_seconds);
    expect(agents.default).toEqual(bare.agents.default);
    expect(models.main).toEqual({ ...bare.models.main, api_key: 'k', headers: {} });
    expect(routes['github-pr']?.dedupe_window_seconds).toBe(600);
  });
});

/** Names of all properties in a JSON Schema. */
function keysOf(schema: unknown, keys = new Set<string>()): Set<string> {
  if (typeof schema !== 'object' || schema === null) return keys;
  for (const [name, part] of Object.entries(schema)) {
    if (name === 'properties') for (const key of Object.keys(part as object)) keys.add(key);
    keysOf(part, keys);
  }
  return keys;
}

describe('the part of the config that running commands needs', () => {
  const text = `
secret: "\${ROUTES}"
models: { main: { provider: openai, model: m1, api_key: "\${MODEL_KEY}" } }
agents:
  default: { model: main, toolsets: [terminal] }
  program: { kind: command, command: [run, "\${ARGUMENT}"] }
  remote: { kind: http, url: "http://127.0.0.1:1", secret: "\${REMOTE}" }
targets: { http: { secret: "\${TARGET}" } }
process_watcher: { max_processes: 7 }
retention: { sessions_days: 400, export: true }
timing: { prune_seconds: 60 }
directories: { exports: ./archive }
routes: { r: { secret: "\${ROUTE}" } }
`;
  const dir = mkdtempSync(join(tmpdir(), 'angelia-config-'));
  const path = join(dir, 'angelia.yaml');
  writeFileSync(path, text);
  afterAll(() => rmSync(dir, { recursive: true }));

  it('needs no variable for a key, a credential or a secret, and holds none', () => {
    const { config } = loadCommandConfig({ ANGELIA_CONFIG: path, ARGUMENT: 'x' });
    expect(config.process_watcher.max_processes).toBe(7);
    expect(config.agents.program).toMatchObject({ command: ['run', 'x'] });
    expect(config.agents.default).toMatchObject({ toolsets: ['terminal'] });
    expect(config).toMatchObject({ models: {}, targets: {}, routes: {} });
    expect(config.agents.remote).toBeUndefined();
  });

  it('holds what `prune` reads: otherwise it would prune by the default retention', () => {
    const { config } = loadCommandConfig({ ANGELIA_CONFIG: path, ARGUMENT: 'x' });
    expect(config.retention).toMatchObject({ sessions_days: 400, export: true });
    expect(config.timing.prune_seconds).toBe(60);
    expect(config.directories.exports).toMatch(/\/archive$/);
  });

  it('names a variable that it needs and that is not set', () => {
    expect(() => loadCommandConfig({ ANGELIA_CONFIG: path })).toThrow(
      /agents.program.command.1.*ARGUMENT is not set/,
    );
  });
});
