import { describe, expect, it } from '@jest/globals';
import { ok } from './finding.ts';
import { diskFindings, nodeFindings } from './machine.ts';
import { isHealthy, renderFindings } from './render.ts';
import { runCheck } from './run-check.ts';

describe('a check', () => {
  it('that throws becomes a fault with the reason', async () => {
    const findings = await runCheck('nats', 1_000, () => Promise.reject(new Error('out of luck')));
    expect(findings).toEqual([
      expect.objectContaining({
        check: 'nats',
        state: 'fault',
        what: expect.stringContaining('out of luck'),
      }),
    ]);
  });

  it('that never ends becomes a fault after its time limit', async () => {
    const findings = await runCheck('disk', 20, () => new Promise(() => {}));
    expect(findings).toEqual([
      expect.objectContaining({ check: 'disk', state: 'fault', what: 'no answer within 0.02 s' }),
    ]);
  });

  it('that succeeds returns what it found', async () => {
    expect(await runCheck('x', 1_000, async () => [ok('x', 'fine')])).toEqual([ok('x', 'fine')]);
  });
});

describe('the machine', () => {
  it.each([
    ['v20.11.0', 'fault'],
    ['v24.0.0', 'ok'],
    ['v26.1.0', 'ok'],
  ])('with Node %s: %s', (version, state) => {
    expect(nodeFindings(version)[0]?.state).toBe(state);
  });

  it.each([
    [100, 'fault'],
    [1_000, 'warning'],
    [10_000, 'ok'],
  ])('with %d MiB free: %s', async (mib, state) => {
    expect((await diskFindings('/', async () => mib * 1024 * 1024))[0]?.state).toBe(state);
  });

  it('without a data directory skips the disk', async () => {
    expect((await diskFindings('/no/such/directory'))[0]?.state).toBe('skipped');
  });
});

it('findings are lines, each with what to do below it, and a summary at the end', () => {
  const findings = [ok('node', 'Node 24'), ...nodeFindings('v18.0.0')];
  expect(renderFindings(findings)).toEqual([
    'ok      node  Node 24',
    'FAULT   node  Node v18.0.0 is too old: the services need 24 or newer',
    '              -> install Node 24, or use `npm start`, which brings its own',
    '',
    '1 fault, 0 warnings, 1 ok, 0 skipped',
  ]);
  expect(isHealthy(findings)).toBe(false);
  expect(isHealthy([ok('node', 'Node 24')])).toBe(true);
});
