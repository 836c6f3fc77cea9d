import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { missingCapabilities } from './run-as.ts';

const status = (effective: string) => `Name:\tnode\nCapPrm:\t0000000000000000\nCapEff:\t${effective}\n`;

describe('what root can do for commands of other users', () => {
  it('is everything on a machine of its own', () => {
    expect(missingCapabilities(status('000001ffffffffff'))).toEqual([]);
  });

  it("lacks SYS_PTRACE in a container with Docker's own choice of capabilities", () => {
    expect(missingCapabilities(status('00000000a80425fb'))).toEqual(['SYS_PTRACE']);
  });

  it('is nothing where all capabilities are dropped, and docker-compose.yml gives back just what it needs', () => {
    const needed = missingCapabilities(status('0000000000000000'));
    const compose = readFileSync(new URL('../../../docker-compose.yml', import.meta.url), 'utf8');
    const given = /user: root\n\s+cap_add: \[(.*)\]/.exec(compose)?.[1]?.split(', ');
    expect(given).toEqual(needed);
    expect(missingCapabilities(status('00000000000800eb'))).toEqual([]);
  });

  it('is not judged where the kernel does not say', () => {
    expect(missingCapabilities('')).toEqual([]);
  });
});
