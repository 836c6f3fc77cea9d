import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment, LoadedConfig } from '@angelia/config';
import { parseConfig } from '@angelia/contracts';
import type { Logger } from '@angelia/service-kit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type WatcherSettings, watcherSettings } from './settings.ts';

let dataDirectory: string;
beforeAll(() => {
  dataDirectory = mkdtempSync(join(tmpdir(), 'angelia-settings-'));
});
afterAll(() => rmSync(dataDirectory, { recursive: true }));

function make(raw: object, previous: WatcherSettings | null = null): WatcherSettings {
  const parsed = parseConfig({ models: { m: { provider: 'builtin', model: 'echo' } }, ...raw });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const loaded = { config: parsed.config, path: '/nowhere', demo: true } as LoadedConfig;
  const environment = { dataDirectory } as Environment;
  const made = watcherSettings.make(loaded, { environment, logger: {} as Logger, previous });
  if (made instanceof Promise) throw new Error('not expected to wait');
  return made;
}

const open = { process_watcher: { run_as: 'same' } };
const agents = { default: { model: 'm', toolsets: ['terminal'] } };

describe('what process-watcher makes of another config', () => {
  it('keeps the isolation that nothing about commands changed', () => {
    const first = make(open);
    expect(make({ ...open, retention: { sessions_days: 3 } }, first).isolation).toBe(first.isolation);
  });

  it('chooses it anew for the first agent that runs commands', () => {
    const first = make(open);
    expect(first.isolation.summary).toContain('none needed');
    const second = make({ ...open, agents }, first);
    expect(second.isolation.summary).toBe('none (run_as: same)');
    expect([second.userPolicy, second.directories]).toEqual([first.userPolicy, first.directories]);
  });

  it('refuses what this host does not allow', () => {
    const closed = { process_watcher: { run_as: 'same', network: 'none' } };
    expect(() => make({ ...closed, agents }, make(closed))).toThrow(
      'process_watcher.network: none is not possible here',
    );
  });
});
