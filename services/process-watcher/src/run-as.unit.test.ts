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

  it('is what docker-compose.yml gives it, and no more is needed', () => {
    expect(missingCapabilities(status('00000000000800eb'))).toEqual([]);
  });

  it('is nothing where all capabilities are dropped', () => {
    expect(missingCapabilities(status('0000000000000000'))).toEqual([
      'CHOWN',
      'DAC_OVERRIDE',
      'FOWNER',
      'KILL',
      'SETGID',
      'SETUID',
      'SYS_PTRACE',
    ]);
  });

  it('is not judged where the kernel does not say', () => {
    expect(missingCapabilities('')).toEqual([]);
  });
});
