/**
 * A filter of system calls for bubblewrap (`--seccomp`), as a program in classic BPF. It refuses what an ordinary program
 * does not need and what most escapes from isolation began with: namespaces of its own (which would make it root over a
 * part of the kernel), the keyring, which namespaces do not separate, and bpf, perf, userfaultfd and io_uring. Calls that
 * need a capability are not listed, because a command has none.
 */
const REFUSED = {
  x64: {
    unshare: 272,
    setns: 308,
    add_key: 248,
    request_key: 249,
    keyctl: 250,
    bpf: 321,
    perf_event_open: 298,
    userfaultfd: 323,
  },
  arm64: {
    unshare: 97,
    setns: 268,
    add_key: 217,
    request_key: 218,
    keyctl: 219,
    bpf: 280,
    perf_event_open: 241,
    userfaultfd: 282,
  },
} as const;
/** The same numbers on both. Programs take "no such call" for an old kernel and do without. */
const ABSENT = { io_uring_setup: 425, io_uring_enter: 426, io_uring_register: 427, clone3: 435 } as const;
const CLONE = { x64: 56, arm64: 220 } as const;
/** AUDIT_ARCH_*. A call by another convention (32 bit) has other numbers. */
const ARCHITECTURE = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
/** Added to the number of a call of the x32 convention, on x64. */
const X32_BIT = 0x40000000;
/**
 * Flags of clone(2): CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. clone3 has them in memory, where a
 * filter cannot look: that is why it is absent.
 */
const NEW_NAMESPACES = 0x7e020000;

const ALLOW = 0x7fff0000;
const REFUSE = 0x00050000 | 1; // EPERM
const SAY_ABSENT = 0x00050000 | 38; // ENOSYS

// struct seccomp_data: nr, arch, instruction_pointer (8 bytes), args (8 bytes each, little endian).
const NUMBER = 0;
const ARCH = 4;
const FIRST_ARGUMENT = 16;

const LOAD = 0x20; // BPF_LD | BPF_W | BPF_ABS
const IF_EQUAL = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const IF_AT_LEAST = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const IF_ANY_BIT = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const RETURN = 0x06; // BPF_RET | BPF_K

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number];

/** Null if there is no filter for this processor. */
export function seccompFilter(arch: string = process.arch): Buffer | null {
  if (arch !== 'x64' && arch !== 'arm64') return null;
  const refuseIf = (code: number, value: number, answer: number): Instruction[] => [
    [code, 0, 1, value],
    [RETURN, 0, 0, answer],
  ];
  const program: Instruction[] = [
    [LOAD, 0, 0, ARCH],
    [IF_EQUAL, 1, 0, ARCHITECTURE[arch]],
    [RETURN, 0, 0, SAY_ABSENT],
    [LOAD, 0, 0, NUMBER],
    ...(arch === 'x64' ? refuseIf(IF_AT_LEAST, X32_BIT, SAY_ABSENT) : []),
    ...Object.values(REFUSED[arch]).flatMap((number) => refuseIf(IF_EQUAL, number, REFUSE)),
    ...Object.values(ABSENT).flatMap((number) => refuseIf(IF_EQUAL, number, SAY_ABSENT)),
    // For any call but clone, skip the three instructions that check its flags.
    [IF_EQUAL, 0, 3, CLONE[arch]],
    [LOAD, 0, 0, FIRST_ARGUMENT],
    ...refuseIf(IF_ANY_BIT, NEW_NAMESPACES, REFUSE),
    [RETURN, 0, 0, ALLOW],
  ];
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, whenTrue, whenFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(whenTrue, index * 8 + 2);
    bytes.writeUInt8(whenFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}
