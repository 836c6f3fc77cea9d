import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseConfig } from '@angelia/contracts';
import { createLogger } from '@angelia/service-kit';
import { eventually } from '@angelia/testkit';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type McpHttpServer, startMcpHttpServer } from '../../testing/mcp-http-server.ts';
import type { RunnerTool, ToolResult } from '../tool.ts';
import { McpServers } from './mcp-servers.ts';
import { LONGEST_RESULT } from './result-text.ts';
import { networkVariables } from './transport.ts';

const PROGRAM = fileURLToPath(new URL('../../testing/mcp-stdio-server.ts', import.meta.url));
const stdio = (over: object = {}) => ({ command: process.execPath, args: [PROGRAM], ...over });

const opened: { close(): Promise<unknown> }[] = [];
let logged = '';

beforeEach(() => {
  logged = '';
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

function open(server: object, previous: McpServers | null = null): McpServers {
  const parsed = parseConfig({ mcp_servers: { tools: server } });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const destination = {
    write: (line: string) => {
      logged += line;
    },
  };
  const logger = createLogger({ service: 'agent-runner', instance: 'test', level: 'debug', destination });
  const servers = new McpServers(parsed.config, logger, previous);
  opened.push(servers);
  return servers;
}

async function http(options: Parameters<typeof startMcpHttpServer>[0] = {}): Promise<McpHttpServer> {
  const server = await startMcpHttpServer(options);
  opened.push({ close: () => server.stop() });
  return server;
}

async function toolsOf(servers: McpServers): Promise<Map<string, RunnerTool>> {
  const tools = await servers.toolset('mcp:tools');
  return new Map((tools ?? []).map((tool) => [tool.name.replace('mcp__tools__', ''), tool]));
}

async function call(
  servers: McpServers,
  name: string,
  args: object = {},
  signal = new AbortController().signal,
): Promise<ToolResult> {
  const tool = (await toolsOf(servers)).get(name);
  if (tool === undefined) throw new Error(`there is no tool ${name}`);
  return tool.run(args, { sessionId: 's', callId: 'c', signal });
}

it('stderr of a program is logged without the values of its `env`, whatever their names', async () => {
  const given = 'words-that-nobody-else-knows';
  const servers = open(stdio({ args: [PROGRAM, 'talkative'], env: { GIVEN_NAME: given } }));
  expect(await call(servers, 'echo', { say: 'hello' })).toMatchObject({ outcome: 'ok' });
  await eventually(() => logged.includes('"line":"ready"'));
  expect(logged).toContain('settings: ');
  expect(logged).toContain('x[redacted]');
  expect(logged).not.toContain('words-that');
  expect(logged).not.toContain(Buffer.from(`me:${given}`).toString('base64').slice(6, 30));
});

describe.each(['stdio', 'http'] as const)('an MCP server over %s', (kind) => {
  const server = async (over: object = {}): Promise<McpServers> =>
    open(kind === 'stdio' ? stdio(over) : { url: (await http()).url, ...over });

  // Shared by the tests that leave it unchanged: a program takes a quarter of a second to start.
  let kept: McpServers | null = null;
  const keptOpen: (typeof opened)[number][] = [];
  const shared = async (): Promise<McpServers> => {
    if (kept === null) {
      kept = await server();
      keptOpen.push(...opened.splice(0));
    }
    return kept;
  };
  afterAll(async () => {
    await Promise.all(keptOpen.map((one) => one.close()));
  });

  it('has tool names that every provider accepts, from all pages of its list', async () => {
    const servers = await shared();
    const tools = (await servers.toolset('mcp:tools')) ?? [];
    expect(tools.map(({ name }) => name)).toContain('mcp__tools__echo');
    expect(tools).toHaveLength(13);
    for (const { name } of tools) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    const [long] = tools.filter(({ name }) => name.includes('with_dots'));
    expect(
      await long?.run({}, { sessionId: 's', callId: 'c', signal: new AbortController().signal }),
    ).toEqual({
      outcome: 'ok',
      result: 'with.dots/and a name that is far too long for every provider of models',
    });
    const byName = await toolsOf(servers);
    expect(byName.get('echo')).toMatchObject({
      by: 'runner',
      description: 'says it again',
      parameters: { type: 'object', required: ['say'] },
      parallel: false,
    });
    expect(byName.get('look')?.parallel).toBe(true);
  });

  it('is called, and its answer is the result', async () => {
    const servers = await shared();
    expect(await call(servers, 'echo', { say: 'hello' })).toEqual({ outcome: 'ok', result: 'hello' });
    expect(await call(servers, 'picture')).toEqual({
      outcome: 'ok',
      result: '[image 1: image/png, 3 bytes]\ninside',
      images: [{ mimeType: 'image/png', data: 'AAAA' }],
    });
    const many = await Promise.all(
      Array.from({ length: 20 }, (_, i) => call(servers, 'echo', { say: String(i) })),
    );
    expect(many.map(({ result }) => result)).toEqual(Array.from({ length: 20 }, (_, i) => String(i)));
  });

  it('gets only arguments that fit its schema', async () => {
    const echo = (await toolsOf(await shared())).get('echo');
    expect(echo?.check({ say: 'x' })).toBeNull();
    expect(echo?.check({ say: 7 })).toContain('must be string');
    expect(echo?.check({})).toContain("must have required property 'say'");
    expect(echo?.check('x')).toContain('object');
    expect(echo?.check(null)).toContain('object');
  });

  it('that refuses, fails, or answers nonsense gives an error result', async () => {
    const servers = await shared();
    expect(await call(servers, 'refuse')).toMatchObject({
      outcome: 'error',
      result: expect.stringContaining('that will not do'),
    });
    expect(await call(servers, 'fail')).toEqual({ outcome: 'error', result: 'no such table' });
    expect((await call(servers, 'nonsense')).outcome).toBe('error');
    expect((await call(servers, 'echo', { say: 'still there' })).outcome).toBe('ok');
  });

  it('that is too slow gives an error result, which says that the call may have taken effect', async () => {
    // Long enough for the next call, even on a busy machine.
    const servers = await server({ timeout_seconds: 3 });
    const result = await call(servers, 'slow', { ms: 30_000 });
    expect(result.outcome).toBe('error');
    expect(result.result).toContain('No answer within 3 seconds');
    expect(result.result).toContain('may have taken effect');
    expect(await call(servers, 'echo', { say: 'next' })).toMatchObject({ result: 'next' });
  });

  it('that answers too much has its result cut in the middle', async () => {
    const { outcome, result } = await call(await shared(), 'huge', { characters: 1_000_000 });
    expect(outcome).toBe('ok');
    expect(result.length).toBeLessThan(LONGEST_RESULT + 200);
    expect(result).toMatch(/^begin x+\n\[\.\.\. 950010 characters left out.*\]\nx+ end$/);
  });

  it('that answers more than fits in memory gives an error result, and takes the next call', async () => {
    const servers = await server({ timeout_seconds: 30 });
    const result = await call(servers, 'huge', { characters: 9_000_000 });
    expect(result.outcome).toBe('error');
    expect(await call(servers, 'echo', { say: 'next' })).toMatchObject({ result: 'next' });
  });

  it('is told when a call is stopped, and the reason is passed on', async () => {
    const cancelled: string[] = [];
    let called = kind === 'stdio';
    const own = await http({
      onCall: () => {
        called = true;
      },
      onCancelled: () => cancelled.push('slow'),
    });
    const servers = kind === 'stdio' ? await server() : open({ url: own.url });
    const stop = new AbortController();
    const reason = new Error('cancelled by the user');
    const calling = call(servers, 'slow', { ms: 30_000 }, stop.signal);
    await eventually(() => called && logged.includes('list of tools read'), { describe: 'called' });
    setTimeout(() => stop.abort(reason), 100);
    await expect(calling).rejects.toBe(reason);
    if (kind === 'http') await eventually(() => cancelled.length === 1);
    expect(await call(servers, 'echo', { say: 'next' })).toMatchObject({ result: 'next' });
  });

  it('that changes its tools is asked for its list again', async () => {
    const servers = await server();
    expect((await toolsOf(servers)).has('grown')).toBe(false);
    await call(servers, 'grow');
    await eventually(async () => (await toolsOf(servers)).has('grown'));
    expect(await call(servers, 'grown')).toEqual({ outcome: 'ok', result: 'grown' });
  });

  it('gets one connection and one request for its list from many runs at the same time', async () => {
    const own = await http();
    const servers = kind === 'stdio' ? await server() : open({ url: own.url });
    await Promise.all(Array.from({ length: 20 }, () => servers.toolset('mcp:tools')));
    await servers.toolset('mcp:tools');
    expect(logged.match(/MCP server: list of tools read/g)).toHaveLength(1);
    if (kind === 'http') expect(own.sessions).toBe(1);
  });

  it('that is away when a run starts fails the run for that reason, and is used when it is back', async () => {
    if (kind === 'stdio') {
      await expect(open(stdio({ args: [PROGRAM, 'broken'] })).toolset('mcp:tools')).rejects.toMatchObject({
        code: 'toolset_unavailable',
        message: expect.stringContaining('MCP server tools: cannot be reached'),
      });
      // What it wrote while it died says why.
      await expect(open(stdio({ args: [PROGRAM, 'broken'] })).toolset('mcp:tools')).rejects.toThrow(
        /Connection closed; its stderr ends: no such module/,
      );
      const missing = open(stdio({ command: '/no/such/program' }));
      await expect(missing.toolset('mcp:tools')).rejects.toThrow('ENOENT');
      return;
    }
    const { port, stop } = await startMcpHttpServer();
    await stop();
    const servers = open({ url: `http://127.0.0.1:${port}/mcp` });
    await expect(servers.toolset('mcp:tools')).rejects.toMatchObject({
      code: 'toolset_unavailable',
      message: expect.stringMatching(/MCP server tools: cannot be reached .*ECONNREFUSED/),
    });
    await http({ port });
    await eventually(async () => (await servers.toolset('mcp:tools')?.catch(() => null)) !== null);
  });
});

describe('an MCP server over stdio', () => {
  it('that is killed during a call gives an error result, and is started again for the next', async () => {
    const servers = open(stdio());
    const pid = (await toolsOf(servers)).get('pid');
    const killed = await call(servers, 'die');
    expect(killed.outcome).toBe('error');
    expect(killed.result).toContain('connection to MCP server tools was lost during the call');
    expect(killed.result).toContain('may have taken effect');
    const secret = 'key-that-it-prints';
    const talking = await call(open(stdio({ env: { LAST_WORDS: `bad key ${secret}`, KEY: secret } })), 'die');
    expect(talking.result).toContain('its stderr ends: Error: gone\n');
    expect(talking.result).not.toContain(secret);
    // Once, however many calls need it.
    const context = { sessionId: 's', callId: 'c', signal: new AbortController().signal };
    const pids = await Promise.all(Array.from({ length: 5 }, () => pid?.run({}, context)));
    expect(new Set(pids.map((one) => one?.result)).size).toBe(1);
    expect(pids[0]?.outcome).toBe('ok');
  });

  it('gets a clean environment: PATH and what the config gives it, none of our secrets', async () => {
    const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'angelia-mcp-')));
    process.env.ANGELIA_MASTER_KEY = 'a-secret-of-ours';
    try {
      const { result } = await call(open(stdio({ env: { GIVEN: 'yes' }, cwd })), 'env');
      const seen = JSON.parse(result) as { env: Record<string, string>; cwd: string };
      expect(seen.env).toMatchObject({ GIVEN: 'yes', PATH: process.env.PATH });
      const usual = ['GIVEN', 'HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];
      const passedOn = [...usual, ...Object.keys(networkVariables())];
      const ours = Object.keys(seen.env).filter((name) => !passedOn.includes(name));
      expect(ours).toEqual([]);
      expect(seen.cwd).toBe(cwd);
    } finally {
      delete process.env.ANGELIA_MASTER_KEY;
      rmSync(cwd, { recursive: true });
    }
  });

  it('gets the proxy and the certificates of this host, whose password nobody reads in an error', async () => {
    const environment = process.env;
    const network = {
      HTTPS_PROXY: 'http://me:proxy-password@127.0.0.1:9',
      no_proxy: 'localhost',
      NODE_EXTRA_CA_CERTS: '/dev/null',
      SSL_CERT_FILE: '/etc/ssl/own.pem',
      npm_config_registry: 'http://127.0.0.1:9/',
    };
    process.env = { ...environment, ...network, NATS_URL: 'nats://ours' };
    try {
      const servers = open(stdio({ env: { no_proxy: 'of the config' } }));
      const seen = JSON.parse((await call(servers, 'env')).result) as { env: Record<string, string> };
      expect(seen.env).toMatchObject({ ...network, no_proxy: 'of the config' });
      expect(seen.env).not.toHaveProperty('NATS_URL');
      const dying = open(stdio({ env: { LAST_WORDS: 'no answer from me:proxy-password@127.0.0.1' } }));
      expect((await call(dying, 'die')).result).not.toContain('proxy-password');
    } finally {
      process.env = environment;
    }
  });

  it('ends with the service', async () => {
    const servers = open(stdio());
    const { result } = await call(servers, 'pid');
    const pid = Number(result);
    expect(() => process.kill(pid, 0)).not.toThrow();
    await servers.close();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    expect(await call(servers, 'echo', { say: 'x' })).toMatchObject({
      outcome: 'error',
      result: expect.stringContaining('is stopping'),
    });
  });
});

describe('an MCP server over HTTP', () => {
  it('that is not an MCP server is reported in a few words, however long its answer', async () => {
    const page = createServer((_request, response) => {
      response.writeHead(502).end('bad gateway '.repeat(10_000));
    });
    await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve));
    opened.push({ close: async () => page.close() });
    const { port } = page.address() as AddressInfo;
    const error = await open({ url: `http://127.0.0.1:${port}/mcp` })
      .toolset('mcp:tools')
      ?.catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ message: expect.stringContaining('bad gateway') });
    expect((error as Error).message.length).toBeLessThan(2_200);
  });

  it('that quotes the key that it refuses is scrubbed, for the model and for the operator', async () => {
    const refusing = createServer((request, response) => {
      response.writeHead(403).end(`no such key: ${request.headers.authorization?.split(' ')[1]}`);
    }).listen(0, '127.0.0.1');
    opened.push({ close: async () => refusing.close() });
    await eventually(() => refusing.listening);
    const url = `http://127.0.0.1:${(refusing.address() as AddressInfo).port}/mcp`;
    const refused = toolsOf(open({ url, headers: { Authorization: 'Bearer mcp-key-1' } }));
    const problem: unknown = await refused.catch((error: unknown) => error);
    expect(problem).toMatchObject({
      code: 'toolset_unavailable',
      message: expect.stringContaining('no such key'),
    });
    expect((problem as Error).message).not.toContain('mcp-key-1');
  });

  it('may redirect on its own origin, and not to another host, which would get its key', async () => {
    const own = await http({ json: true });
    const elsewhere = await http({ json: true });
    let to = '';
    const gate = createServer((request, response) => {
      if (request.url === '/mcp') response.writeHead(308, { location: to }).end();
      else {
        // The second address leads to the real server.
        const { port } = new URL(own.url);
        const inner = forward(
          { port, path: '/mcp', method: request.method, headers: request.headers },
          (answer) => {
            response.writeHead(answer.statusCode ?? 500, answer.headers);
            answer.pipe(response);
          },
        );
        inner.on('error', () => response.destroy());
        request.pipe(inner);
      }
    }).listen(0, '127.0.0.1');
    opened.push({ close: async () => gate.close() });
    await eventually(() => gate.listening);
    const url = `http://127.0.0.1:${(gate.address() as AddressInfo).port}/mcp`;
    const headers = { 'X-Api-Key': 'mcp-key-2' };
    to = '/mcp/';
    expect(await call(open({ url, headers }), 'echo', { say: 'here' })).toEqual({
      outcome: 'ok',
      result: 'here',
    });
    expect(own.headers.length).toBeGreaterThan(0);
    to = elsewhere.url;
    const problem: unknown = await toolsOf(open({ url, headers })).catch((error: unknown) => error);
    expect(problem).toMatchObject({
      code: 'toolset_unavailable',
      message: expect.stringContaining(
        `it redirects to ${new URL(elsewhere.url).origin}, which is not followed`,
      ),
    });
    expect(elsewhere.headers).toEqual([]);
  });

  it('gets the headers of the config, and may answer in JSON or in events', async () => {
    const own = await http({ json: true });
    const servers = open({ url: own.url, headers: { Authorization: 'Bearer abc-secret' } });
    expect(await call(servers, 'echo', { say: 'json' })).toEqual({ outcome: 'ok', result: 'json' });
    expect(own.headers.every(({ authorization }) => authorization === 'Bearer abc-secret')).toBe(true);
    expect(logged).not.toContain('abc-secret');
  });

  it('that breaks off during a call gives an error result at once, not at the time limit', async () => {
    let called = false;
    const own = await http({
      onCall: () => {
        called = true;
      },
    });
    const servers = open({ url: own.url, timeout_seconds: 60 });
    const calling = call(servers, 'slow', { ms: 30_000 });
    await eventually(() => called);
    own.cut();
    expect(await calling).toMatchObject({
      outcome: 'error',
      result: expect.stringContaining('may have taken effect'),
    });
  });

  it('that was restarted and does not know our session gets a new one, unseen by the model', async () => {
    const first = await startMcpHttpServer();
    const servers = open({ url: first.url });
    expect((await call(servers, 'echo', { say: 'a' })).outcome).toBe('ok');
    await first.stop();
    expect(await call(servers, 'echo', { say: 'b' })).toMatchObject({
      outcome: 'error',
      result: expect.stringMatching(/could not be reached|was lost/),
    });
    const second = await http({ port: first.port });
    expect(await call(servers, 'echo', { say: 'c' })).toEqual({ outcome: 'ok', result: 'c' });
    expect(second.sessions).toBe(1);
  });
});

it('a toolset that is no MCP server of the config is not found', async () => {
  const servers = open(stdio());
  expect(servers.toolset('terminal')).toBeNull();
  expect(servers.toolset('mcp:other')).toBeNull();
});

describe('under another config', () => {
  const pidOf = async (servers: McpServers) => (await call(servers, 'pid')).result;
  const next = (server: object, previous: McpServers): McpServers => open(server, previous);

  it('a server that did not change keeps its program, until the last config that has it is closed', async () => {
    const first = open(stdio());
    const pid = await pidOf(first);
    const second = next(stdio(), first);
    await first.close();
    expect(await pidOf(second)).toBe(pid);
    await second.close();
    await eventually(() => !isAlive(Number(pid)));
    opened.length = 0;
  });

  it('a changed server is another program; the old one serves its runs until its config is closed', async () => {
    const first = open(stdio());
    const pid = await pidOf(first);
    const second = next(stdio({ env: { GIVEN_NAME: 'another' } }), first);
    expect(await pidOf(second)).not.toBe(pid);
    expect(await pidOf(first)).toBe(pid);
    await first.close();
    await eventually(() => !isAlive(Number(pid)));
    opened.splice(0, 1);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
