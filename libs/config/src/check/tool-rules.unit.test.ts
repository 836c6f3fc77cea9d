import { parseConfig } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { crossReferenceProblems } from './cross-references.ts';

function said(rule: object, where: 'agents' | 'routes' | 'chats' = 'agents'): string[] {
  const tools = { policy: [{ tool: 'terminal', do: 'ask' }, rule] };
  const parsed = parseConfig({
    mcp_servers: { github: { command: 'github' }, files: { command: 'files' } },
    models: { m: { provider: 'builtin', model: 'echo' } },
    agents: { default: { model: 'm', toolsets: ['terminal'], ...(where === 'agents' ? { tools } : {}) } },
    routes: { hook: { secret: 'a-long-secret', ...(where === 'routes' ? { tools } : {}) } },
    chats: { home: { platform: 'telegram', ...(where === 'chats' ? { tools } : {}) } },
    targets: { telegram: { bot_token: '1:a', chat_id: '1' } },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return crossReferenceProblems(parsed.config, '127.0.0.1').map(({ place, reason }) => `${place}: ${reason}`);
}

const about = (tool: string, match?: string) =>
  said({ tool, do: 'deny', ...(match === undefined ? {} : { match }) });

describe('a rule of tools.policy', () => {
  it.each([
    ['*', undefined],
    ['terminal', undefined],
    ['term*', undefined],
    ['process', '*"action":"write"*'],
    ['process', '{"action":"list"}'],
    ['*', 'git *'],
    ['mcp__*', undefined],
    ['m*', undefined],
    ['mcp__github__*', undefined],
    ['mcp__github__merge*', '*"title":"a: b"*'],
    ['mcp__github__merge', '*'],
    ['mcp__git*__merge', undefined],
    ['terminal', 'echo "a": b'],
  ])('is taken if it can match a call: %j %j', (tool, match) => {
    expect(about(tool, match)).toEqual([]);
  });

  it.each([
    ['terminl', 'Did you mean `terminal`?'],
    ['Terminal', 'Did you mean `terminal`?'],
    ['mcp__gihub__merge', 'no tool is named'],
    ['mcp__gihub__*', 'Did you mean `mcp__github__*`?'],
    ['mcp__github__', 'no tool is named'],
    ['mcp:github', 'Write `mcp*github*`'],
    ['mcp__files__file.delete', 'Write `mcp__files__file*delete*`'],
    [`mcp__files__${'x'.repeat(60)}`, 'at most 64'],
    ['clarify', 'never asked about'],
  ])('is refused if no tool can have its name: %s', (tool, reason) => {
    const problems = about(tool);
    expect(problems).toEqual([expect.stringContaining(reason)]);
    expect(problems[0]).toMatch(/^agents\.default\.tools\.policy\.1\.tool: /);
  });

  it.each([
    ['terminal', '^git push', 'not a regular expression'],
    ['process', 'write', 'a JSON object'],
    ['process', '"action":"write"*', 'a JSON object'],
    ['process', '*"action": "write"*', 'without spaces'],
    ['mcp__github__*', '*"owner" :"acme"*', 'without spaces'],
  ])('is refused if no arguments can match: %s %s', (tool, match, reason) => {
    const problems = about(tool, match);
    expect(problems).toEqual([expect.stringContaining(reason)]);
    expect(problems[0]).toMatch(/^agents\.default\.tools\.policy\.1\.match: /);
  });

  it.each(['agents', 'routes', 'chats'] as const)('is checked in %s', (where) => {
    expect(said({ tool: 'terminl', do: 'ask' }, where)).toHaveLength(1);
  });
});
