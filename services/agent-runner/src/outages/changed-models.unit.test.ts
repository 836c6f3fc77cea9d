import { parseConfig } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { changedModels } from './changed-models.ts';

const model = (over: object = {}) => ({
  provider: 'openai-compatible',
  base_url: 'https://models.example.com/v1',
  model: 'm1',
  api_key: 'one',
  ...over,
});
const caller = { kind: 'http', url: 'https://agent.example.com/', secret: 'a-secret-of-the-agent' };
const before = {
  models: { main: model(), backup: model() },
  agents: { default: { model: 'main' }, elsewhere: caller },
};

function changes(after: object) {
  const [from, to] = [before, { ...before, ...after }].map((raw) => {
    const parsed = parseConfig(raw);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    return parsed.config;
  });
  if (from === undefined || to === undefined) throw new Error('not parsed');
  return changedModels(from, to);
}

describe('the models that a new config changes', () => {
  it('are none if it changes something else', () => {
    expect(changes({})).toEqual({ mended: [], left: [] });
    const agents = { ...before.agents, default: { model: 'main', system: 'Be brief.' }, new: {} };
    expect(changes({ agents })).toEqual({ mended: [], left: [] });
  });

  it('are those with another key or address, and agents of kind http', () => {
    const models = { ...before.models, main: model({ api_key: 'two' }) };
    const agents = { ...before.agents, elsewhere: { ...caller, url: 'https://other.example.com/' } };
    expect(changes({ models, agents })).toEqual({ mended: ['main', 'agent:elsewhere'], left: [] });
  });

  it.each([
    ['names another model', { model: 'backup' }],
    ['names a fallback', { model: 'main', fallback_models: ['backup'] }],
  ])('are those of an agent that %s', (_, agent) => {
    expect(changes({ agents: { ...before.agents, default: agent } })).toEqual({ mended: [], left: ['main'] });
  });

  it('are those of an agent that is gone', () => {
    expect(changes({ agents: {} })).toEqual({ mended: ['agent:elsewhere'], left: ['main'] });
  });
});
