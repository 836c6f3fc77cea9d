import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { basename, delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { repositoryRoot } from '../data-directory/layout.ts';
import { LaunchError } from '../launch-error.ts';

const run = promisify(execFile);

/** Where packages install it. Searched after PATH, which has no sbin for an unprivileged user. */
const USUAL_DIRECTORIES = ['/usr/sbin', '/usr/local/bin', '/usr/bin', '/opt/homebrew/bin'];

const HOW_TO_GET_IT =
  'nats-server was not found: install it (Debian, Ubuntu: apt install nats-server; macOS: brew install nats-server; others: github.com/nats-io/nats-server/releases), or set NATS_URL';

interface FindOptions {
  readonly path?: string;
  readonly cache?: string;
  readonly tools?: readonly string[];
}

/** A program in the system's package archive: the name of its package, and its path in it. */
interface Packaged {
  readonly name: string;
  readonly package: string;
  readonly file: string;
}

const NATS_SERVER: Packaged = { name: 'nats-server', package: 'nats-server', file: 'usr/sbin/nats-server' };
const KUBECTL: Packaged = { name: 'kubectl', package: 'kubernetes-client', file: 'usr/bin/kubectl' };
const BUBBLEWRAP: Packaged = { name: 'bwrap', package: 'bubblewrap', file: 'usr/bin/bwrap' };

/**
 * Finds nats-server in PATH, or extracts our own copy from the distribution's package. It does not install the package,
 * which would start a system daemon on port 4222: only the program is needed. This needs root only if apt has no package
 * lists yet.
 */
export async function findNatsServer(
  say: (line: string) => void = () => {},
  options: FindOptions = {},
): Promise<string> {
  const cache = options.cache ?? join(repositoryRoot, '.cache', 'nats');
  try {
    const found = await find(NATS_SERVER, say, { ...options, cache });
    if (found !== null) return found;
  } catch (error) {
    const reason = error instanceof Error ? lastLine(error.message) : String(error);
    throw new LaunchError('NATS_MISSING', `${HOW_TO_GET_IT} (apt-get: ${reason})`);
  }
  throw new LaunchError('NATS_MISSING', HOW_TO_GET_IT);
}

/** Finds bubblewrap in the same way, for tests; null if it is not available. */
export async function findBubblewrap(say: (line: string) => void = () => {}): Promise<string | null> {
  if (process.platform !== 'linux') return null;
  return find(BUBBLEWRAP, say, { cache: join(repositoryRoot, '.cache', 'bubblewrap') });
}

/**
 * Finds kubectl in the same way, for tests; null if it is not available. Before 1.21 (Debian 12) its kustomize does not
 * know components.
 */
export async function findKubectl(say: (line: string) => void = () => {}): Promise<string | null> {
  const found = await find(KUBECTL, say, { cache: join(repositoryRoot, '.cache', 'kubectl') }).catch(
    () => null,
  );
  if (found === null) return null;
  const { stdout } = await run(found, ['version', '--client', '--output=json']);
  return 'kustomizeVersion' in (JSON.parse(stdout) as object) ? found : null;
}

/** Null if it is not installed and this system has no packages that we can extract it from. */
async function find(
  wanted: Packaged,
  say: (line: string) => void,
  options: FindOptions & { readonly cache: string },
): Promise<string | null> {
  const { cache } = options;
  const path = options.path ?? [process.env.PATH ?? '', ...USUAL_DIRECTORIES].join(delimiter);
  const found = lookUp(wanted.name, [...path.split(delimiter), cache]);
  if (found) return found;
  const tools = options.tools ?? ['/usr/bin', '/bin'];
  if (!lookUp('apt-get', tools) || !lookUp('dpkg-deb', tools)) return null;
  say(`fetching ${wanted.name} from the system package archive (once, into .cache/${basename(cache)})`);
  return takeFromPackage(wanted, cache, say);
}

async function takeFromPackage(
  { name, package: packageName, file }: Packaged,
  cache: string,
  say: (line: string) => void,
): Promise<string> {
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, 'fetch-'));
  try {
    const download = () =>
      run('apt-get', ['download', '-q', '-o', 'APT::Sandbox::User=root', packageName], { cwd: work });
    await download().catch(async (error: unknown) => {
      if (process.getuid?.() !== 0) throw error;
      say('updating the package lists (apt-get update)');
      await run('apt-get', ['update', '-q'], { maxBuffer: 16 * 1024 * 1024 });
      await download();
    });
    const [archive] = (await readdir(work)).filter((entry) => entry.endsWith('.deb'));
    if (!archive) throw new Error('apt-get download returned no package');
    await run('dpkg-deb', ['-x', join(work, archive), join(work, 'package')]);
    const program = join(cache, name);
    const beside = join(work, name);
    await copyFile(join(work, 'package', file), beside);
    await rename(beside, program);
    return program;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function lookUp(name: string, dirs: readonly string[]): string | null {
  for (const dir of dirs) {
    const path = join(dir, name);
    if (dir !== '' && existsSync(path) && isExecutable(path)) return path;
  }
  return null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';
