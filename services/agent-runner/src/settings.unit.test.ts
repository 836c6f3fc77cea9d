import { parseConfig } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import type { Model } from './models/model.ts';
import { modelsForRun, type RunnerSettings } from './settings.ts';

function settings(name: string, over: object | null = {}): RunnerSettings {
  const main = {
    provider: 'openai-compatible',
    base_url: 'http://127.0.0.1:9/v1',
    model: 'm1',
    api_key: `key of ${name}`,
    headers: { 'x-team': name },
    ...over,
  };
  const parsed = parseConfig({ models: over === null ? {} : { main } });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return {
    models: new Map(over === null ? [] : [['main', { name } as unknown as Model]]),
    modelConfigs: parsed.config.models,
  } as unknown as RunnerSettings;
}

const modelOf = (held: RunnerSettings, live: RunnerSettings): string | undefined =>
  modelsForRun({ settings: held }, { settings: live }).get('main')?.name;

describe('the models of a run that has begun', () => {
  it('have the credentials in force', () => {
    expect(modelOf(settings('before'), settings('now'))).toBe('now');
    expect(modelOf(settings('before'), settings('now', { api_key: undefined, headers: undefined }))).toBe(
      'now',
    );
  });

  it.each([{ base_url: 'http://127.0.0.1:8/v1' }, { model: 'm2' }, { context_tokens: 5_000 }, null])(
    'are otherwise those that it began with: %j',
    (changed) => {
      expect(modelOf(settings('before'), settings('now', changed))).toBe('before');
    },
  );
});
