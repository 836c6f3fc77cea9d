import { parseConfig } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { crossReferenceProblems } from './check/cross-references.ts';
import { agentsThatAsk, toolPolicyOf, uncheckedCommandWarnings } from './tool-policy.ts';

const ask = { tool: 'terminal', match: 'rm *', do: 'ask' };
const deny = { tool: 'terminal', match: 'sudo *', do: 'deny' };

function configOf(agent: object, route: object = {}, chat?: object) {
  const parsed = parseConfig({
    chats: chat === undefined ? {} : { home: { platform: 'telegram', ...chat } },
    models: { m: { provider: 'builtin', model: 'echo' } },
    agents: { default: { model: 'm', toolsets: ['terminal'], ...agent } },
    routes: { hook: { secret: 'a-long-secret', ...route } },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.config;
}
const policyOf = (agent: object, route: object = {}) => {
  const config = configOf(agent, route);
  return config.routes.hook === undefined ? null : toolPolicyOf(config, config.routes.hook);
};

describe('the policy of a session', () => {
  it('has the rules of the route before those of the agent, and what the route does not say from the agent', () => {
    const agent = { tools: { policy: [ask], approvers: ['telegram:1'], approval_expires_seconds: 60 } };
    expect(policyOf(agent, { tools: { policy: [deny], approvers: ['link'] } })).toEqual({
      policy: [deny, ask],
      approvers: ['link'],
      approval_expires_seconds: 60,
    });
    expect(policyOf({ tools: { policy: [ask] } })).toEqual({
      policy: [ask],
      approvers: [],
      approval_expires_seconds: 3600,
    });
  });

  it('is none without a rule', () => {
    expect(policyOf({})).toBeNull();
    expect(policyOf({ tools: { approvers: ['link'] } })).toBeNull();
  });

  it.each([
    [{ policy: [{ tool: 'terminal', do: 'perhaps' }] }, 'policy.0.do'],
    [{ policy: [{ tool: 'terminal', match: 'x'.repeat(1_001), do: 'ask' }] }, 'policy.0.match'],
    [{ policy: Array(101).fill(ask) }, 'policy'],
    [{ approvers: ['somebody'] }, 'approvers.0'],
    [{ approvers: [] }, 'approvers'],
  ])('cannot be %j', (tools, place) => {
    const parsed = parseConfig({ agents: { default: { model: 'm', tools } } });
    expect(parsed.ok ? [] : parsed.problems.map((problem) => problem.place)).toContain(
      `agents.default.tools.${place}`,
    );
  });

  it('is refused on a route whose agent has no tools of ours', () => {
    const config = configOf({}, { agent: 'program', tools: { policy: [ask] } });
    const program = parseConfig({ agents: { program: { kind: 'command', command: ['x'] } } });
    if (!program.ok) throw new Error('config');
    const problems = crossReferenceProblems(
      { ...config, agents: { ...config.agents, ...program.config.agents } },
      '127.0.0.1',
    );
    expect(problems.map(({ place }) => place)).toContain('routes.hook.tools');
  });
});

describe('a route whose agent runs any command', () => {
  it('is warned about, unless a rule is about that', () => {
    expect(uncheckedCommandWarnings(configOf({}))).toEqual([
      expect.stringContaining('routes.hook: its agent `default` runs any command'),
    ]);
    expect(
      uncheckedCommandWarnings(configOf({ tools: { policy: [{ tool: 'mcp__*', do: 'ask' }] } })),
    ).toHaveLength(1);
    expect(uncheckedCommandWarnings(configOf({ tools: { policy: [ask] } }))).toEqual([]);
    expect(uncheckedCommandWarnings(configOf({}, { tools: { policy: [{ tool: '*', do: 'ask' }] } }))).toEqual(
      [],
    );
    expect(uncheckedCommandWarnings(configOf({}, { toolsets: [] }))).toEqual([]);
    expect(uncheckedCommandWarnings(configOf({}, { toolsets: [] }, {}))).toEqual([
      expect.stringContaining('chats.home: its agent `default` runs any command'),
    ]);
    expect(uncheckedCommandWarnings(configOf({}, { toolsets: [] }, { conversations: false }))).toEqual([]);
    expect(uncheckedCommandWarnings(configOf({ toolsets: ['clarify'] }))).toEqual([]);
  });
});

it('agents ask for approvals by their own rules or by those of a route', () => {
  expect(agentsThatAsk(configOf({ tools: { policy: [ask] } }))).toEqual(['default']);
  expect(agentsThatAsk(configOf({}, { tools: { policy: [ask] } }))).toEqual(['default']);
  expect(agentsThatAsk(configOf({ tools: { policy: [deny] } }))).toEqual([]);
});
