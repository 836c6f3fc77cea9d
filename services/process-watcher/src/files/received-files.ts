import { constants, type FileHandle, link, mkdir, open, readFile, unlink } from 'node:fs/promises';
import {
  dataOfReceived,
  RECEIVED_DIRECTORY,
  type ReceivedFile,
  type RecordedFact,
  receivedFileSchema,
} from '@angelia/contracts';
import type { Loaded } from '@angelia/sessions';
import { syncDirectory, writeFileWhole } from '../supervisor/write-file-whole.ts';
import type { User } from '../users/user-policy.ts';

/**
 * Files of messages, as the log has them, put into a session's working directory before a call of the session begins. Each file
 * is written once: if a command changes or removes it, it is not written again. A list beside the session's commands says which
 * ones were put there. If we die before that is written, the file has its name already, and is left as it is.
 */

/** What follows `received/`, and the bytes in base64. */
interface Wanted {
  readonly name: string;
  readonly data: string;
}

export interface Misplaced {
  readonly path: string;
  readonly why: string;
}

interface Place {
  /** The session's working directory, which its commands own. */
  readonly work: string;
  /** The file that lists what was put there. Only we write it. */
  readonly list: string;
  /** Who gets the files; null: we. */
  readonly user: User | null;
}

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;

export function receivedFiles({ events }: Pick<Loaded, 'events'>): readonly Wanted[] {
  return events.flatMap((event) => {
    const fact = event as RecordedFact;
    if (fact.type !== 'turn.requested' && fact.type !== 'clarification.answered') return [];
    const { files = [], images } = fact.data;
    return files.flatMap((file) => wanted(file, dataOfReceived(file, images)));
  });
}

/** Checked again, because we write to this path with more rights than commands have. */
function wanted(file: ReceivedFile, data: string | null): Wanted[] {
  const { path } = receivedFileSchema.parse(file);
  return data === null ? [] : [{ name: path.slice(RECEIVED_DIRECTORY.length + 1), data }];
}

/** Returns what could not be put there. It is tried again before the next call. */
export async function placeReceived(files: readonly Wanted[], place: Place): Promise<readonly Misplaced[]> {
  const placed = await placedBefore(place.list);
  const missing = files.filter(({ name }) => !placed.has(name));
  if (missing.length === 0) return [];
  const misplaced: Misplaced[] = [];
  try {
    const directory = await openDirectory(place);
    try {
      for (const file of missing) {
        try {
          await write(directory, file, place.user);
          placed.add(file.name);
        } catch (error) {
          misplaced.push(misplacedFile(file, error));
        }
      }
      await syncDirectory(below(directory, '.'));
    } finally {
      await directory.close();
    }
    await writeFileWhole(place.list, JSON.stringify([...placed]), { durable: true });
  } catch (error) {
    return missing.map((file) => misplacedFile(file, error));
  }
  return misplaced;
}

/** When the session is erased and its directory stays, because it is that of a conversation. */
export async function removeReceived(place: Pick<Place, 'work' | 'list'>): Promise<void> {
  const placed = await placedBefore(place.list);
  if (placed.size === 0) return;
  const directory = await openDirectory({ ...place, user: null }).catch(() => null);
  if (directory === null) return;
  try {
    for (const name of placed) await unlink(below(directory, name)).catch(ignoreMissing);
  } finally {
    await directory.close();
  }
}

async function placedBefore(list: string): Promise<Set<string>> {
  const text = await readFile(list, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '[]';
    throw error;
  });
  return new Set(JSON.parse(text) as string[]);
}

/** Nothing on the way may be a link (see read-in-directory.ts): commands write to all of it. */
async function openDirectory({ work, user }: Pick<Place, 'work' | 'user'>): Promise<FileHandle> {
  const above = await open(work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    const path = below(above, RECEIVED_DIRECTORY);
    const made = await mkdir(path, { mode: 0o700 }).then(() => true, ignoreExisting);
    const directory = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      if (made && user !== null) await directory.chown(user.uid, user.gid);
      const [its, owner] = [await directory.stat(), await above.stat()];
      if (its.uid !== owner.uid) throw new Error(`${RECEIVED_DIRECTORY} belongs to somebody else`);
      return directory;
    } catch (error) {
      await directory.close();
      throw error;
    }
  } finally {
    await above.close();
  }
}

/**
 * The file gets its name only when it is complete: commands never read half a file, and a kill leaves no half file under that
 * name.
 */
async function write(directory: FileHandle, { name, data }: Wanted, user: User | null): Promise<void> {
  const [path, unfinished] = [below(directory, name), below(directory, `.${name}.part`)];
  await unlink(unfinished).catch(ignoreMissing);
  const file = await open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    await file.writeFile(Buffer.from(data, 'base64'));
    if (user !== null) await file.chown(user.uid, user.gid);
    await file.sync();
  } finally {
    await file.close();
  }
  // Unlike a rename, a second name never replaces what is there.
  await link(unfinished, path).catch(ignoreExisting);
  await unlink(unfinished).catch(ignoreMissing);
}

/** Looks up the name in the directory that is open, wherever that is by now. */
function below({ fd }: FileHandle, name: string): string {
  return `/proc/self/fd/${fd}/${name}`;
}

function misplacedFile({ name }: Wanted, error: unknown): Misplaced {
  return { path: `${RECEIVED_DIRECTORY}/${name}`, why: whyNot(error) };
}

function whyNot(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ELOOP':
    case 'ENOTDIR':
      return `${RECEIVED_DIRECTORY} is not a directory; remove it`;
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk is full';
    default:
      // The model need not see the path after the comma.
      return (error as Error).message.split(',')[0] ?? '';
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): false {
  if (error.code !== 'EEXIST') throw error;
  return false;
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
