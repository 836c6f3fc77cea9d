import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { parseConfig } from '@angelia/contracts';
import { createLogger } from '@angelia/service-kit';
import { eventually } from '@angelia/testkit';
import { afterEach, describe, expect, it } from '@jest/globals';
import { McpServers } from './mcp-servers.ts';

/** The reference server of the protocol's authors. Its streams can be resumed, and one of its tools only runs as a task. */
const PROGRAM = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-everything/dist/index.js',
);

let servers: McpServers;
let program: ChildProcess | null = null;

afterEach(async () => {
  await servers.close();
  program?.kill('SIGKILL');
  program = null;
});

const silent = createLogger({ service: 'agent-runner', instance: 'test', level: 'silent' });
const open = (server: object): void => {
  const parsed = parseConfig({ mcp_servers: { everything: server } });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  servers = new McpServers(parsed.config, silent);
};
const toolsOf = async () => {
  const tools = await servers.toolset('mcp:everything');
  return new Map((tools ?? []).map((tool) => [tool.name.replace('mcp__everything__', ''), tool]));
};
const call = async (name: string, args: object = {}) =>
  (await toolsOf())
    .get(name)
    ?.run(args, { sessionId: 's', callId: 'c', signal: new AbortController().signal });

async function freePort(): Promise<number> {
  const listening = createServer().listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const { port } = listening.address() as { port: number };
  listening.close();
  await once(listening, 'close');
  return port;
}

describe('the reference server', () => {
  it('over stdio: its tools, its instructions and its images', async () => {
    open({ command: process.execPath, args: [PROGRAM, 'stdio'] });
    const tools = await toolsOf();
    expect([...tools.keys()]).toContain('get-sum');
    // It only runs as a task.
    expect([...tools.keys()]).not.toContain('simulate-research-query');
    expect(tools.get('get-sum')?.instructions?.text).toContain('Everything Server');
    expect(await call('get-sum', { a: 2, b: 3 })).toMatchObject({
      outcome: 'ok',
      result: expect.stringContaining('5'),
    });
    const image = await call('get-tiny-image');
    expect(image?.images).toMatchObject([{ mimeType: 'image/png' }]);
    expect(image?.result).toContain('[image 1: image/png');
  });

  it('over HTTP: it dies during a call, which fails at once and not at its time limit', async () => {
    const port = await freePort();
    const started = spawn(process.execPath, [PROGRAM, 'streamableHttp'], {
      env: { PATH: process.env.PATH, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    program = started;
    let printed = '';
    for (const stream of [started.stdout, started.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
      });
    }
    await eventually(() => printed.includes('listening'));
    open({ url: `http://127.0.0.1:${port}/mcp`, timeout_seconds: 3600 });
    await toolsOf();
    const posts = () => printed.split('Received MCP POST').length;
    const before = posts();
    const calling = call('trigger-long-running-operation', { duration: 3600, steps: 1 });
    await eventually(() => posts() > before);
    // It answers the later call when the stream of the earlier one is open.
    await call('echo', { message: 'hello' });
    started.kill('SIGKILL');
    expect(await calling).toMatchObject({
      outcome: 'error',
      result: expect.stringMatching(/was lost during the call.*may have taken effect/s),
    });
  });
});
