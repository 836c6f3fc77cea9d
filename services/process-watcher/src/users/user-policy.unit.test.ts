import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import {
  chooseUserPolicy,
  missingCapabilities,
  rangeOf,
  type UserPolicy,
  userPolicyWarning,
} from './user-policy.ts';

const NOTHING = { needed: [], wanted: [] };
const status = (effective: string) => `Name:\tnode\nCapPrm:\t0000000000000000\nCapEff:\t${effective}\n`;

describe('the missing capabilities of root', () => {
  it('are none on an ordinary machine', () => {
    expect(missingCapabilities(status('000001ffffffffff'))).toEqual(NOTHING);
  });

  it("are SYS_PTRACE with Docker's default capabilities, which makes a warning", () => {
    const docker = status('00000000a80425fb');
    expect(missingCapabilities(docker)).toEqual({ needed: [], wanted: ['SYS_PTRACE'] });
    const others: UserPolicy = { kind: 'one', user: { uid: 1000, gid: 1000 }, separateUsers: true };
    expect(userPolicyWarning(others, docker)).toContain('SYS_PTRACE');
    expect(userPolicyWarning(others, status('000001ffffffffff'))).toBeNull();
    expect(userPolicyWarning(chooseUserPolicy({ run_as: 'same' }), docker)).toBeNull();
  });

  it('are exactly those that docker-compose.yml adds, if all capabilities are dropped', () => {
    const missing = missingCapabilities(status('0000000000000000'));
    const compose = readFileSync(new URL('../../../../docker-compose.yml', import.meta.url), 'utf8');
    const given = /user: root\n\s+cap_add: \[(.*)\]/.exec(compose)?.[1]?.split(', ');
    expect(given).toEqual([...missing.needed, ...missing.wanted]);
    expect(missingCapabilities(status('00000000000800eb'))).toEqual(NOTHING);
  });

  it('are none if the kernel does not tell', () => {
    expect(missingCapabilities('')).toEqual(NOTHING);
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
