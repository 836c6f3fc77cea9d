import { type Config, holderId } from '@angelia/contracts';
import type { Loaded } from '@angelia/service-kit';
import { describe, expect, it } from '@jest/globals';
import { type ClaimDeps, claim } from './claim.ts';

type Execute = ClaimDeps['sessions']['execute'];

describe('a claim', () => {
  it('has the captured limit of a route made by API that is called like what every object has', async () => {
    let pool: unknown;
    const execute = (async (_id, _decide, options) => {
      pool = options?.lease !== undefined && 'pool' in options.lease ? options.lease.pool : undefined;
      return { status: 'full' };
    }) as Execute;
    const loaded = {
      id: 's',
      state: { generation: 0, created: { route: 'constructor', maxConcurrency: 2 } },
    } as unknown as Loaded;
    const verdict = { action: 'resume', turn: 1, resumed: false, attempt: 1, takeover: false } as const;
    const config = { routes: {}, timing: { lease_seconds: 1 } } as unknown as Config;
    await claim(loaded, verdict as unknown as Parameters<typeof claim>[1], {
      config,
      sessions: { execute },
      log: { lease: () => Promise.reject(new Error('not asked')) },
      holder: holderId('a', 'test'),
    });
    expect(pool).toEqual({ name: 'route:constructor', places: 2 });
  });
});
