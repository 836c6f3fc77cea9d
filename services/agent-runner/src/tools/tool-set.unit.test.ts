import { describe, expect, it } from '@jest/globals';
import { provideToolsets } from './provide-toolsets.ts';
import { toolsOf } from './tool-set.ts';

const agent = { toolsets: ['terminal', 'mcp:files'] };
const ours = provideToolsets({ toolset: () => null });
const toolsets: typeof ours = (name) => (name === 'mcp:files' ? [] : ours(name));

describe('the tools of a run', () => {
  it('are those of its agent, unless the session captured fewer', async () => {
    expect([...(await toolsOf(agent, null, toolsets)).keys()]).toEqual(['terminal', 'process']);
    expect([...(await toolsOf(agent, ['mcp:files'], toolsets)).keys()]).toEqual([]);
    expect([...(await toolsOf(agent, [], toolsets)).keys()]).toEqual([]);
  });

  it('are none by default', async () => {
    expect((await toolsOf({ toolsets: [] }, null, toolsets)).size).toBe(0);
  });

  it('are never silently fewer: a toolset that the agent or this runner no longer has is an error', async () => {
    const missing = { code: 'toolset_missing' };
    await expect(toolsOf({ toolsets: [] }, ['terminal'], toolsets)).rejects.toMatchObject(missing);
    await expect(toolsOf({ toolsets: ['mcp:gone'] }, null, toolsets)).rejects.toMatchObject(missing);
  });
});
