import { setTimeout as pause } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';

/** Node runs this file directly (stdio), and tests import it (HTTP): nothing here may need a build. */
const object = (properties: Record<string, unknown> = {}, required: string[] = []) => ({
  type: 'object' as const,
  properties,
  required,
});
const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });

export interface TestToolsOptions {
  /** Called when a call was cancelled by its caller. */
  readonly onCancelled?: () => void;
  readonly onCall?: (tool: string) => void;
}

/** An MCP server of the official SDK, with tools that do everything that a tool can do to a runner. */
export function testTools(options: TestToolsOptions = {}): Server {
  const server = new Server(
    { name: 'test', version: '1' },
    { capabilities: { tools: { listChanged: true } }, instructions: 'Echo before you look.' },
  );
  let more = false;
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) =>
    // Two pages, as the protocol allows.
    params?.cursor === undefined
      ? {
          tools: [
            {
              name: 'echo',
              description: 'says it again',
              inputSchema: object({ say: { type: 'string' } }, ['say']),
            },
            { name: 'look', inputSchema: object(), annotations: { readOnlyHint: true } },
            { name: 'env', inputSchema: object() },
            { name: 'pid', inputSchema: object() },
            { name: 'slow', inputSchema: object({ ms: { type: 'number' } }) },
          ],
          nextCursor: 'p2',
        }
      : {
          tools: [
            { name: 'huge', inputSchema: object({ characters: { type: 'number' } }) },
            { name: 'die', inputSchema: object() },
            { name: 'refuse', inputSchema: object() },
            { name: 'fail', inputSchema: object() },
            { name: 'picture', inputSchema: object() },
            { name: 'nonsense', inputSchema: object() },
            { name: 'grow', inputSchema: object() },
            {
              name: 'with.dots/and a name that is far too long for every provider of models',
              inputSchema: object(),
            },
            ...(more ? [{ name: 'grown', inputSchema: object() }] : []),
          ],
        },
  );
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params: { name, arguments: args = {} } }, { signal }) => {
      options.onCall?.(name);
      switch (name) {
        case 'echo':
          return text(String(args.say));
        case 'pid':
          return text(String(process.pid));
        case 'env':
          return text(JSON.stringify({ env: process.env, cwd: process.cwd() }));
        case 'slow':
          signal.addEventListener('abort', () => options.onCancelled?.());
          await pause(Number(args.ms ?? 60_000), null, { signal, ref: false });
          return text('at last');
        case 'huge':
          return text(`begin ${'x'.repeat(Number(args.characters))} end`);
        case 'die':
          // As a program does that fails: the last line has no end.
          if (process.env.LAST_WORDS !== undefined)
            process.stderr.write(`Error: gone\n${process.env.LAST_WORDS}`);
          process.kill(process.pid, 'SIGKILL');
          return new Promise(() => {});
        case 'refuse':
          throw new McpError(ErrorCode.InvalidParams, 'that will not do');
        case 'fail':
          return { ...text('no such table'), isError: true };
        case 'picture':
          return {
            content: [
              { type: 'image' as const, data: 'AAAA', mimeType: 'image/png' },
              { type: 'resource' as const, resource: { uri: 'file:///a', text: 'inside' } },
            ],
          };
        case 'nonsense':
          return { content: 'not a list' } as never;
        case 'grow':
          more = true;
          await server.sendToolListChanged();
          return text('grown');
        default:
          return text(name);
      }
    },
  );
  return server;
}
