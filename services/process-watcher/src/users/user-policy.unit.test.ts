import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { missingCapabilities, rangeOf, userPolicyWarning } from './user-policy.ts';

const status = (effective: string) => `Name:\tnode\nCapPrm:\t0000000000000000\nCapEff:\t${effective}\n`;

describe('the missing capabilities of root', () => {
  it('are none on an ordinary machine', () => {
    expect(missingCapabilities(status('000001ffffffffff'))).toEqual([]);
  });

  it("are none with Docker's default capabilities", () => {
    expect(missingCapabilities(status('00000000a80425fb'))).toEqual([]);
  });

  it('are exactly those that docker-compose.yml adds, if all capabilities are dropped', () => {
    const missing = missingCapabilities(status('0000000000000000'));
    const compose = readFileSync(new URL('../../../../docker-compose.yml', import.meta.url), 'utf8');
    const given = /user: root\n\s+cap_add: \[(.*)\]/.exec(compose)?.[1]?.split(', ');
    expect(given).toEqual(missing);
    expect(missingCapabilities(status('00000000000000eb'))).toEqual([]);
  });

  it('are none if the kernel does not tell', () => {
    expect(missingCapabilities('')).toEqual([]);
  });
});

describe('the user numbers of sessions', () => {
  it('are high if the host has all numbers', () => {
    expect(rangeOf('         0          0 4294967295\n')).toEqual({ first: 200_000, count: 300_000 });
  });

  it('are lower in a container that has 65,536 numbers', () => {
    expect(rangeOf('         0       1000          1\n         1     100000      65536\n')).toEqual({
      first: 20_000,
      count: 40_000,
    });
  });

  it('are none if there is only root, and a warning says so: sessions never share a user', () => {
    expect(rangeOf('         0       1000          1\n')).toBeNull();
    expect(userPolicyWarning({ kind: 'own', range: null, separateUsers: true })).toContain(
      'every command is refused',
    );
  });
});
