import { constants, type FileHandle, open } from 'node:fs/promises';

/** A part of a file, or why it is not read. `why` is for people: it follows `was not sent: `. */
export type ReadPart =
  | { readonly kind: 'part'; readonly data: Buffer; readonly size: number; readonly version: string }
  | { readonly kind: 'refused'; readonly why: string };

interface Part {
  readonly offset: number;
  readonly limit: number;
  /** The largest file that may be read. */
  readonly maxBytes: number;
}

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const NOT_A_FILE = 'it is not an ordinary file in the directory of the session';
const NO_FILE = 'there is no such file in the directory of the session';

/**
 * Reads a file below a directory that somebody else writes to, with more rights than they have (invariant commands-are-alone).
 * So every step of the path is opened below the one before it and may not be a link: a path that is checked first and opened
 * later may have become another one in between. A second name (hard link) of a file can lead out of the directory as well, and
 * so can a file of another user that was moved in. Opening a FIFO would wait for its writer.
 */
export async function readInDirectory(directory: string, path: string, part: Part): Promise<ReadPart> {
  const steps = path.split('/');
  const name = steps.pop();
  if (name === undefined || ![...steps, name].every(isName)) return refused(NOT_A_FILE);
  let at: FileHandle | null = null;
  try {
    at = await open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    const { uid } = await at.stat();
    for (const step of steps) {
      const next = await open(below(at, step), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      await at.close();
      at = next;
    }
    const file = await open(below(at, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    await at.close();
    at = file;
    return await readPart(file, uid, part);
  } catch (error) {
    return refused(whyNot(error));
  } finally {
    await at?.close();
  }
}

async function readPart(file: FileHandle, uid: number, { offset, limit, maxBytes }: Part): Promise<ReadPart> {
  const found = await file.stat({ bigint: true });
  if (!found.isFile() || found.nlink !== 1n || found.uid !== BigInt(uid)) return refused(NOT_A_FILE);
  const { dev, ino, size, mtimeNs } = found;
  if (size > BigInt(maxBytes)) return refused(`it has more than ${maxBytes} bytes`);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(limit), 0, limit, offset);
  const version = `${dev}.${ino}.${size}.${mtimeNs}`;
  return { kind: 'part', data: buffer.subarray(0, bytesRead), size: Number(size), version };
}

/** Looks up the name in the directory that is open, wherever that is by now. */
function below({ fd }: FileHandle, name: string): string {
  return `/proc/self/fd/${fd}/${name}`;
}

function isName(step: string): boolean {
  return step !== '' && step !== '.' && step !== '..' && !step.includes('\0');
}

/** @throws the error, unless it says what is wrong with the path */
function whyNot(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
    case 'ENAMETOOLONG':
      return NO_FILE;
    // A link; a step that is not a directory, or is a link; a socket or a device without a driver; a directory.
    case 'ELOOP':
    case 'ENOTDIR':
    case 'ENXIO':
    case 'EISDIR':
      return NOT_A_FILE;
    case 'EACCES':
    case 'EPERM':
      return 'it may not be read';
    default:
      throw error;
  }
}

function refused(why: string): ReadPart {
  return { kind: 'refused', why };
}
