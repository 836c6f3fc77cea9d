import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { LaunchError } from './launch-error.ts';
import { repositoryRoot } from './layout.ts';

const run = promisify(execFile);

/** Where packages put it, also when PATH does not say so (an unprivileged user's PATH has no sbin). */
const USUAL_PLACES = ['/usr/sbin', '/usr/local/bin', '/usr/bin', '/opt/homebrew/bin'];

const HOW_TO_GET_IT =
  'nats-server was not found: install it (Debian, Ubuntu: apt install nats-server; macOS: brew install nats-server; else github.com/nats-io/nats-server/releases), or set NATS_URL';

/**
 * nats-server in PATH; else a copy of our own, taken out of the distribution's package. The package is not installed:
 * that would start a system daemon on port 4222, and only the program is needed. This needs root only where apt has
 * no package lists yet.
 */
export async function findNatsServer(
  say: (line: string) => void = () => {},
  options: { path?: string; cache?: string; tools?: readonly string[] } = {},
): Promise<string> {
  const cache = options.cache ?? join(repositoryRoot, '.cache', 'nats');
  const path = options.path ?? [process.env.PATH ?? '', ...USUAL_PLACES].join(delimiter);
  const found = lookUp('nats-server', [...path.split(delimiter), cache]);
  if (found) return found;
  const tools = options.tools ?? ['/usr/bin', '/bin'];
  if (!lookUp('apt-get', tools) || !lookUp('dpkg-deb', tools)) {
    throw new LaunchError('NATS_MISSING', HOW_TO_GET_IT);
  }
  say('fetching nats-server from the system package archive (once, into .cache/nats)');
  try {
    return await takeFromPackage(cache, say);
  } catch (error) {
    const reason = error instanceof Error ? lastLine(error.message) : String(error);
    throw new LaunchError('NATS_MISSING', `${HOW_TO_GET_IT} (apt-get: ${reason})`);
  }
}

async function takeFromPackage(cache: string, say: (line: string) => void): Promise<string> {
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, 'fetch-'));
  try {
    const download = () =>
      run('apt-get', ['download', '-q', '-o', 'APT::Sandbox::User=root', 'nats-server'], { cwd: work });
    await download().catch(async (error: unknown) => {
      if (process.getuid?.() !== 0) throw error;
      say('updating the package lists (apt-get update)');
      await run('apt-get', ['update', '-q'], { maxBuffer: 16 * 1024 * 1024 });
      await download();
    });
    const [archive] = (await readdir(work)).filter((name) => name.endsWith('.deb'));
    if (!archive) throw new Error('apt-get download brought no package');
    await run('dpkg-deb', ['-x', join(work, archive), join(work, 'package')]);
    const program = join(cache, 'nats-server');
    const beside = join(work, 'nats-server');
    await copyFile(join(work, 'package', 'usr', 'sbin', 'nats-server'), beside);
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
