import { describe, expect, it } from '@jest/globals';
import { seccompFilter } from './seccomp.ts';

const [ALLOW, EPERM, ENOSYS] = [0x7fff0000, 0x00050001, 0x00050026];

/** Interprets the few instructions of the filter as the kernel does. */
function answerTo(filter: Buffer, call: { arch: number; number: number; flags?: number }): number {
  const data: Record<number, number> = { 0: call.number, 4: call.arch, 16: call.flags ?? 0 };
  let accumulator = 0;
  for (let at = 0; at < filter.length / 8; at += 1) {
    const code = filter.readUInt16LE(at * 8);
    const value = filter.readUInt32LE(at * 8 + 4);
    const jump = (holds: boolean): number => filter.readUInt8(at * 8 + (holds ? 2 : 3));
    if (code === 0x06) return value;
    if (code === 0x20) accumulator = data[value] ?? Number.NaN;
    else if (code === 0x15) at += jump(accumulator === value);
    else if (code === 0x35) at += jump(accumulator >= value);
    else if (code === 0x45) at += jump((accumulator & value) !== 0);
    else throw new Error(`instruction ${code}`);
  }
  throw new Error('the filter has no end');
}

const CONVENTIONS = [
  { cpu: 'x64', arch: 0xc000003e, unshare: 272, keyctl: 250, bpf: 321, clone: 56, read: 0, ptrace: 101 },
  { cpu: 'arm64', arch: 0xc00000b7, unshare: 97, keyctl: 219, bpf: 280, clone: 220, read: 63, ptrace: 117 },
] as const;

describe.each(CONVENTIONS)('the filter of system calls on $cpu', ({ cpu, arch, ...numbers }) => {
  const filter = seccompFilter(cpu) ?? Buffer.alloc(0);
  const ask = (number: number, flags?: number) =>
    answerTo(filter, { arch, number, ...(flags === undefined ? {} : { flags }) });

  it('refuses namespaces, keys and bpf', () => {
    expect([ask(numbers.unshare), ask(numbers.keyctl), ask(numbers.bpf)]).toEqual([EPERM, EPERM, EPERM]);
  });

  it('lets a program fork and start threads, but not in a new namespace', () => {
    const [fork, thread, newUser] = [0x01200011, 0x003d0f00, 0x10000011];
    expect([ask(numbers.clone, fork), ask(numbers.clone, thread)]).toEqual([ALLOW, ALLOW]);
    expect(ask(numbers.clone, newUser)).toBe(EPERM);
    // The filter cannot see the flags of clone3, so libraries use clone instead.
    expect(ask(435)).toBe(ENOSYS);
  });

  it('lets ordinary calls pass', () => {
    expect([ask(numbers.read), ask(numbers.ptrace)]).toEqual([ALLOW, ALLOW]);
  });

  it('refuses calls by another convention, whose numbers mean something else', () => {
    expect(answerTo(filter, { arch: 0x40000003, number: numbers.read })).toBe(ENOSYS);
    if (cpu === 'x64') expect(ask(0x40000000 + numbers.read)).toBe(ENOSYS);
  });
});

it('there is no filter for other processors', () => {
  expect(seccompFilter('riscv64')).toBeNull();
});
