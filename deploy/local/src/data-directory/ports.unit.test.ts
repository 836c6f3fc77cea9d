import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Layout, makeLayout } from './layout.ts';
import { openPorts } from './ports.ts';

let directory: string;
let layout: Layout;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'angelia-ports-'));
  layout = await makeLayout(directory);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('the ports of a data directory', () => {
  it('are in the range that ANGELIA_LOCAL_PORTS names, and stay the same', async () => {
    process.env.ANGELIA_LOCAL_PORTS = '19990-19999';
    const port = await openPorts(layout)('nats');
    expect(port).toBeGreaterThanOrEqual(19_990);
    expect(port).toBeLessThanOrEqual(19_999);
    process.env.ANGELIA_LOCAL_PORTS = '19980-19989';
    expect(await openPorts(layout)('nats')).toBe(port);
  });

  it.each(['x', '30000', '30001-30000', '0-10', '1-65536'])('are refused if that is %s', async (given) => {
    process.env.ANGELIA_LOCAL_PORTS = given;
    await expect(openPorts(layout)('nats')).rejects.toThrow('write it as 20000-31999');
  });
});
